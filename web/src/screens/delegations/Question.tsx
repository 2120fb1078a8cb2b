import { Button, Group, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { clock } from "../../parts/time";
import type { Question as Asked } from "./transcript";

/** What the agent asks leave for, to be answered in place. */
export function Question({ job, question }: { job: string; question: Asked }) {
  const [reason, setReason] = useState("");
  const answer = useMutation({
    mutationFn: (answer: "allow" | "deny") =>
      body(
        api.POST("/jobs/{job_id}/permissions/{permission_id}", {
          params: { path: { job_id: job, permission_id: question.id } },
          body: { answer, reason },
        }),
      ),
  });
  const open = !question.answer && !answer.data;
  return (
    <section className="question" aria-label="The agent asks" data-answer={question.answer}>
      <Text fw={600}>
        {open ? "May it" : "It asked for"} <span className="mono">{question.tool || question.title}</span>
        {open ? "?" : ""}
      </Text>
      <pre className="mono" tabIndex={0} aria-label="What exactly">
        {question.input || question.title}
      </pre>
      {open ? (
        <>
          <Text size="sm" c="dimmed">
            Unanswered at {clock(question.deadline)}, it is denied.
          </Text>
          <TextInput mt="xs" label="A word to the agent" value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={1_000} />
          <Group mt="xs" grow>
            <Button h={48} loading={answer.isPending} onClick={() => answer.mutate("allow")} style={{ background: "var(--allow)", color: "var(--surface)" }}>
              Allow
            </Button>
            <Button h={48} variant="default" loading={answer.isPending} onClick={() => answer.mutate("deny")} style={{ color: "var(--deny)" }}>
              Deny
            </Button>
          </Group>
          <Failed error={answer.error} again={() => answer.reset()} />
        </>
      ) : (
        <Text size="sm" c="dimmed">
          {(question.answer || answer.data?.state) === "allow" || answer.data?.state === "allowed" ? "Allowed" : "Denied"}
          {question.by && ` by ${question.by}`}
          {question.reason && `: ${question.reason}`}
        </Text>
      )}
    </section>
  );
}
