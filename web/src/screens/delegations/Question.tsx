import { Text } from "@mantine/core";
import { useState } from "react";
import { QuestionCard } from "../../parts/question/QuestionCard";
import { useAnswers, useQuestions } from "../../parts/question/queries";
import { Failed } from "../../parts/Failed";
import type { Question as Asked } from "./transcript";

/** What the agent asks leave for: the card of Waiting while it waits, else what was answered. */
export function Question({ question }: { question: Asked }) {
  return (
    <section className="asked" aria-label="The agent asks" data-answer={question.answer}>
      {question.answer ? <Answered question={question} /> : <Open question={question} />}
    </section>
  );
}

function Answered({ question }: { question: Asked }) {
  return (
    <div className="panel">
      <Text fw={600}>
        It asked for <span className="mono">{question.tool || question.title}</span>
      </Text>
      <pre className="command" tabIndex={0} aria-label="What exactly">
        {question.input || question.title}
      </pre>
      <Text size="sm" c="dimmed">
        {question.answer === "allow" ? "Allowed" : "Denied"}
        {question.by && ` by ${question.by}`}
        {question.reason && `: ${question.reason}`}
      </Text>
    </div>
  );
}

function Open({ question: { id, title, tool } }: { question: Asked }) {
  const found = useQuestions();
  const waits = found.data?.find((one) => one.id === id);
  const { endings, answer } = useAnswers(waits ? [waits] : []);
  const [denying, setDenying] = useState(false);
  const ending = endings.find((one) => one.question.id === id);
  if (!waits || ending) {
    return (
      <div className="panel">
        <Text>
          {ending?.text ?? "It asks for"} <span className="mono">{tool || title}</span>
        </Text>
        <Failed error={found.error} again={() => void found.refetch()} />
      </div>
    );
  }
  return (
    <>
      <QuestionCard
        question={waits}
        busy={answer.isPending}
        answer={(allow, reason) => answer.mutate({ question: waits, allow, reason })}
        denying={denying}
        setDenying={setDenying}
      />
      <Failed error={answer.error} again={() => answer.reset()} />
    </>
  );
}
