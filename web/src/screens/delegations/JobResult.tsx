import { Alert, Button, Group, List, Loader, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Confirm } from "../../parts/Confirm";
import { Failed } from "../../parts/Failed";
import type { Comments } from "./comments";
import { JobDiff } from "./JobDiff";
import { changeQuery, type Job, type ResultAction } from "./queries";

const WAIT_S = 8;

interface Asked {
  verb: "apply" | "discard" | "branch" | "pr";
  branch: string;
}

/** What a job changed in its worktree, and what can be done with it: apply, branch, pull request, discard. */
export default function JobResult({ job, comments }: { job: Job; comments: Comments }) {
  const change = useQuery(changeQuery(job.id));
  const [branch, setBranch] = useState("");
  const use = useMutation({ mutationFn: (asked: Asked) => used(job.id, asked) });
  if (change.error) return <Failed error={change.error} again={() => void change.refetch()} />;
  if (!change.data) return <Loader aria-label="Loading" />;
  if (!change.data.changed) return <Text c="dimmed">It changed no file.</Text>;
  return (
    <Stack gap="sm" component="section" aria-label="Changes">
      <Title order={2}>Changes</Title>
      <JobDiff job={job.id} change={change.data} comments={comments} />
      <Group gap="sm" align="end">
        <Button size="xs" loading={use.isPending} onClick={() => use.mutate({ verb: "apply", branch: "" })}>
          Apply
        </Button>
        <Confirm
          label="Discard"
          question="The job's changes and its worktree are removed permanently. Discard them?"
          yes="Discard it"
          disabled={use.isPending}
          onYes={() => use.mutate({ verb: "discard", branch: "" })}
        />
        <TextInput size="xs" label="Branch" placeholder={`baton/${job.id.slice(0, 16)}`} value={branch} onChange={(event) => setBranch(event.currentTarget.value)} />
        <Button size="xs" variant="default" disabled={use.isPending || !branch.trim()} onClick={() => use.mutate({ verb: "branch", branch: branch.trim() })}>
          Make branch
        </Button>
        <Confirm
          label="Pull request"
          question="The job's changes are pushed as a branch, and a pull or merge request is opened with the runner's own gh or glab. Continue?"
          yes="Open it"
          disabled={use.isPending}
          onYes={() => use.mutate({ verb: "pr", branch: branch.trim() })}
        />
      </Group>
      <Failed error={use.error} again={() => use.reset()} />
      {use.data && <Outcome action={use.data} />}
    </Stack>
  );
}

const TITLES: Record<string, string> = { done: "Done", refused: "Nothing was changed", failed: "It failed", expired: "The runner did not answer", asked: "The runner was asked", taken: "The runner is working on it" };

function Outcome({ action }: { action: ResultAction }) {
  return (
    <Alert variant="outline" role="status" styles={{ title: { color: action.state === "done" ? "var(--allow)" : "var(--text)" } }} color={action.state === "done" ? "green" : action.state === "asked" || action.state === "taken" ? "blue" : "red"} title={TITLES[action.state] ?? action.state}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {action.detail}
      </Text>
      {action.reasons.length > 0 && (
        <List size="sm">
          {action.reasons.map((reason) => (
            <List.Item key={reason}>{reason}</List.Item>
          ))}
        </List>
      )}
      {/^https:/.test(action.url) && (
        <a href={action.url} target="_blank" rel="noopener noreferrer">
          {action.url}
        </a>
      )}
    </Alert>
  );
}

/** Ask the job's runner, and wait until it has answered or its silence means that it will not. */
async function used(job: string, asked: Asked): Promise<ResultAction> {
  let action = await ask(job, asked);
  while (action.state === "asked" || action.state === "taken") {
    const params = { path: { job_id: job, action_id: action.id }, query: { wait_s: WAIT_S } };
    action = await body(api.GET("/jobs/{job_id}/actions/{action_id}", { params }));
  }
  return action;
}

function ask(job: string, { verb, branch }: Asked): Promise<ResultAction> {
  const params = { path: { job_id: job } };
  const waits = { wait_s: WAIT_S };
  switch (verb) {
    case "apply":
      return body(api.POST("/jobs/{job_id}/apply", { params, body: waits }));
    case "discard":
      return body(api.POST("/jobs/{job_id}/discard", { params, body: waits }));
    case "branch":
      return body(api.POST("/jobs/{job_id}/branch", { params, body: { ...waits, branch } }));
    case "pr":
      return body(api.POST("/jobs/{job_id}/pr", { params, body: { ...waits, branch: branch || null, body: "", title: "", draft: false } }));
  }
}
