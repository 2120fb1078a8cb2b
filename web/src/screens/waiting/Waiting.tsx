import { Alert, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Link, useParams } from "@tanstack/react-router";
import { useLayoutEffect, useRef, useState } from "react";
import { Failed } from "../../parts/Failed";
import { QuestionCard } from "../../parts/question/QuestionCard";
import { useAnswers, useQuestions } from "../../parts/question/queries";
import type { Question } from "../../parts/question/question";
import { useKeys } from "../../parts/keys";

/** How long a question takes no key in the place of another one, for which the key was meant. */
const PAUSE_MS = 700;

/** What waits for a person, as cards; on a phone one at a time. */
export function Waiting() {
  const { id } = useParams({ strict: false }) as { id?: string };
  const found = useQuestions();
  const all = found.data ?? [];
  const { endings, answer } = useAnswers(all);
  const [denying, setDenying] = useState("");
  const phone = useMediaQuery("(max-width: 760px)") ?? false;
  const over = new Set(endings.map(({ question }) => question.id));
  const waiting = all.filter((one) => !over.has(one.id));
  const chosen = id ? waiting.filter((one) => one.id === id) : phone ? waiting.slice(0, 1) : waiting;

  const more = waiting.length - chosen.length;
  const next = chosen[0] ? waiting[(waiting.indexOf(chosen[0]) + 1) % waiting.length] : waiting[0];

  const first = chosen.find((one) => one.mayAnswer)?.id ?? "";
  const place = useRef({ id: "", answered: "", at: 0 });
  useLayoutEffect(() => {
    const { id, answered } = place.current;
    place.current = { id: first, answered, at: id && id !== answered ? Date.now() : 0 };
  }, [first]);

  const focused = (): Question | undefined => {
    const element = document.activeElement?.closest<HTMLElement>("[data-question]");
    const mine = chosen.filter((one) => one.mayAnswer);
    return mine.find((one) => one.id === element?.dataset.question) ?? (element || Date.now() - place.current.at < PAUSE_MS ? undefined : mine[0]);
  };
  const give = (question: Question | undefined, allow: boolean, reason = "") => {
    if (!question || answer.isPending) return;
    setDenying("");
    place.current.answered = question.id;
    answer.mutate({ question, allow, reason });
  };
  useKeys("Waiting for you", [
    { press: "a", label: "Allow the focused question", run: () => give(focused(), true) },
    {
      press: "d",
      label: "Deny it with a message",
      run: () => {
        const one = focused();
        if (one?.kind === "job") give(one, false);
        else setDenying(one?.id ?? "");
      },
    },
  ]);

  return (
    <Stack gap="md" className="waiting">
      <Group justify="space-between">
        <Title order={1}>Waiting for you</Title>
        <Notify />
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      <div role="status" aria-live="polite">
        {endings.map(({ question, text }) => (
          <div key={question.id} className="panel ending">
            <Text size="sm">
              <b>{text}</b> <span className="muted">{question.title}</span>
            </Text>
          </div>
        ))}
      </div>
      {answer.error && (
        <Alert color="red" variant="outline" role="alert" title="The answer was not accepted">
          {answer.error.message}
        </Alert>
      )}
      {chosen.map((one) => (
        <QuestionCard
          key={one.id}
          question={one}
          busy={answer.isPending && answer.variables.question.id === one.id}
          answer={(allow, reason) => give(one, allow, reason)}
          denying={denying === one.id}
          setDenying={(on) => setDenying(on ? one.id : "")}
        />
      ))}
      {more > 0 && (
        <Text size="sm" className="muted">
          {more === 1 ? "1 more question waits." : `${more} more questions wait.`}{" "}
          {id && !phone && <Link to="/waiting">Show all</Link>}
          {phone && next && (
            <Link to="/waiting/$id" params={{ id: next.id }}>
              Show the next
            </Link>
          )}
        </Text>
      )}
      {found.isSuccess && chosen.length === 0 && (
        <Text>
          {id ? "This question is closed." : "Nothing waits for you."}{" "}
          <span className="muted">Agents ask here before an action without an allowing rule.</span>
        </Text>
      )}
    </Stack>
  );
}

/** Asks for leave to show desktop notifications, which browsers give after a click alone. */
function Notify() {
  const [state, setState] = useState(typeof Notification === "undefined" ? "denied" : Notification.permission);
  if (state !== "default") return null;
  return (
    <Button size="xs" variant="default" onClick={() => void Notification.requestPermission().then(setState)}>
      Notify me
    </Button>
  );
}
