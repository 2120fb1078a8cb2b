import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { agentName } from "../../parts/agents";
import { Failed } from "../../parts/Failed";
import type { Comments } from "./comments";
import type { Job } from "./queries";

/** Continues an ended job's thread with a message and the comments on what it changed. */
export function Reply({ job, comments }: { job: Job; comments: Comments }) {
  const [message, setMessage] = useState("");
  const navigate = useNavigate();
  const send = useMutation({
    mutationFn: () => body(api.POST("/jobs/{job_id}/reply", { params: { path: { job_id: job.id } }, body: { message, comments: comments.all, model: "" } })),
    onSuccess: ({ job: made }) => {
      setMessage("");
      comments.clear();
      void navigate({ to: "/delegations/$job", params: { job: made.id } });
    },
  });
  return (
    <Stack gap="xs" component="form" onSubmit={(event) => (event.preventDefault(), send.mutate())}>
      <Textarea label={`Reply to ${agentName(job.provider)}`} autosize minRows={2} maxRows={12} value={message} onChange={(event) => setMessage(event.currentTarget.value)} />
      {comments.all.map((comment) => (
        <Group key={`${comment.file} ${comment.line} ${comment.text}`} gap="xs" wrap="nowrap">
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            <span className="mono">
              {comment.file}:{comment.line}
            </span>{" "}
            {comment.text}
          </Text>
          <Button size="compact-xs" variant="default" aria-label={`Remove the comment on ${comment.file}:${comment.line}`} onClick={() => comments.remove(comment)}>
            <IconX size={12} aria-hidden />
          </Button>
        </Group>
      ))}
      <Group>
        <Button type="submit" size="xs" loading={send.isPending} disabled={!message.trim() && comments.all.length === 0}>
          Send
        </Button>
      </Group>
      <Failed error={send.error} again={() => send.mutate()} />
    </Stack>
  );
}
