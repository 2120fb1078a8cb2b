import "@mantine/core/styles/Kbd.css";
import { Button, Code, Group, Kbd, Text, TextInput } from "@mantine/core";
import { IconBan, IconCheck } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { clock } from "../time";
import { JobTask } from "./JobTask";
import { Marked } from "./Marked";
import type { Question } from "./question";
import { TimeLeft } from "./TimeLeft";

const EditView = lazy(() => import("./EditView").then(({ EditView: default_ }) => ({ default: default_ })));

interface Props {
  question: Question;
  busy: boolean;
  answer: (allow: boolean, reason: string) => void;
  /** Whether the word of a denial is asked for. */
  denying: boolean;
  setDenying: (denying: boolean) => void;
}

/** The key of a button, where there is a keyboard. */
function Shortcut({ press }: { press: string }) {
  return (
    <Kbd size="xs" aria-hidden visibleFrom="sm">
      {press}
    </Kbd>
  );
}

/** One question: who asks, what exactly, what to look at, why, until when; and the answer. */
export function QuestionCard({ question: one, busy, answer, denying, setDenying }: Props) {
  const [word, setWord] = useState("");
  const heading = `question-${one.id}`;
  return (
    <article className="panel question" tabIndex={0} data-row data-question={one.id} aria-labelledby={heading}>
      <Group justify="space-between" align="start" wrap="nowrap" gap="sm">
        <h2 id={heading}>{one.title}</h2>
        {one.deadline && <TimeLeft until={one.deadline} />}
      </Group>
      <Text size="sm" className="muted">
        for <b>{one.user}</b>
        {one.jobTitle && ` · ${one.jobTitle}`}
        {one.workspace && ` · in ${one.workspace}`} · since {clock(one.since)}
      </Text>
      {one.kind === "job" && <JobTask job={one.job} />}
      {one.command && <Marked text={one.command} risky={one.risky} />}
      {one.edits.length > 0 && (
        <Suspense fallback={<Text size="sm">…</Text>}>
          {one.edits.map((edit, index) => (
            <EditView key={`${edit.path} ${index}`} edit={edit} />
          ))}
        </Suspense>
      )}
      {one.input && <Code block style={{ whiteSpace: "pre-wrap" }}>{one.input}</Code>}
      {one.unparsed && <Text size="sm">The line could not be read whole: {one.unparsed}.</Text>}
      {one.programs.length > 0 && (
        <details>
          <summary>Runs {one.programs.length === 1 ? "one program" : `${one.programs.length} programs`}</summary>
          <ul className="programs">
            {one.programs.map((program, index) => (
              <li key={index} style={{ paddingLeft: 16 * Math.min(program.depth, 6) }}>
                <span className={program.risky ? "mono risky" : "mono"}>{program.text}</span>{" "}
                <span className="muted">{program.categories.join(", ") || "unknown"}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Text size="sm">
        <span className="muted">Why: </span>
        {one.why} {one.rule && <span className="mono muted">{one.rule}</span>}{" "}
        {one.decision && (
          <Link to="/decisions" search={{ id: one.decision }}>
            Parsed as
          </Link>
        )}
      </Text>
      {one.mayAnswer ? (
        <div className="answers">
          {denying && one.kind !== "job" && (
            <TextInput
              label="Message to the agent"
              placeholder="the reason or an alternative; Enter sends"
              value={word}
              maxLength={1_000}
              autoFocus
              onChange={(event) => setWord(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter") answer(false, word.trim());
                if (event.key === "Escape") setDenying(false);
              }}
            />
          )}
          <Group grow gap="sm">
            <Button
              className="touch"
              color="var(--deny)"
              variant="outline"
              leftSection={<IconBan size={18} aria-hidden />}
              rightSection={<Shortcut press="d" />}
              loading={busy}
              aria-keyshortcuts="d"
              onClick={() => (denying || one.kind === "job" ? answer(false, word.trim()) : setDenying(true))}
            >
              {denying ? "Send denial" : "Deny"}
            </Button>
            <Button
              className="touch"
              leftSection={<IconCheck size={18} aria-hidden />}
              rightSection={<Shortcut press="a" />}
              loading={busy}
              aria-keyshortcuts="a"
              onClick={() => answer(true, "")}
            >
              Allow
            </Button>
          </Group>
        </div>
      ) : (
        <Text size="sm" className="muted">
          {one.answerer ? `It waits for ${one.answerer}.` : "Your role may not answer it."}
        </Text>
      )}
    </article>
  );
}
