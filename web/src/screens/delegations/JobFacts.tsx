import { Alert, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { agentName } from "../../parts/agents";
import { count, duration, usd } from "../../parts/figures";
import { JobState } from "../../parts/JobState";
import { clock, moment } from "../../parts/time";
import type { Job } from "./queries";

const REASONS: Record<string, string> = {
  no_runner: "No runner",
  runner_offline: "The runner is offline",
  not_served: "No runner serves it",
  slots_busy: "All slots are busy",
  folder_busy: "Another job works in the folder",
  frozen: "Frozen",
};

/** What a job is and how it stands: its state with why it waits, where it runs, what it cost. */
export function JobFacts({ job }: { job: Job }) {
  const facts: [string, ReactNode][] = [
    ["Agent", `${agentName(job.provider)}${job.agent_type ? ` as ${job.agent_type}` : ""}${job.model ? `, ${job.model}` : ""}`],
    ["Where", [job.workspace || "the runner's first workspace", job.isolation === "worktree" ? "in a worktree" : "in place", job.runner && `on ${job.runner.id}`].filter(Boolean).join(", ")],
    ["By", job.user],
    [
      "Session",
      <Link key="session" to="/sessions/$id" params={{ id: job.session_id }} search={{ user: job.user }}>
        {job.session_id.slice(0, 24)}
      </Link>,
    ],
    ["Began", job.started_at && `${moment(job.started_at)}, for ${duration(job.started_at, job.ended_at ?? undefined)}`],
    ["Tokens", job.usage.input_tokens + job.usage.output_tokens > 0 && `${count(job.usage.input_tokens)} in (${count(job.usage.cached_tokens)} cached), ${count(job.usage.output_tokens)} out`],
    ["Cost", job.usage.cost_usd != null && usd(job.usage.cost_usd)],
    ["Graph", job.graph_id && <Link key="graph" to="/graphs/$id" params={{ id: job.graph_id }}>{job.task || job.graph_id}</Link>],
    ["After", job.depends_on.length > 0 && job.depends_on.map((one) => <Link key={one} to="/delegations/$job" params={{ job: one }}>{one.slice(0, 12)} </Link>)],
  ];
  return (
    <div className="panel">
      <JobState state={job.state} waiting={job.waiting?.reason} />
      {job.cancel_requested && job.state !== "cancelled" && <Text span size="sm"> · cancel requested</Text>}
      {job.waiting && (
        <Alert variant="outline" color="yellow" styles={{ title: { color: "var(--ask)" } }} title={REASONS[job.waiting.reason] ?? job.waiting.reason} my="xs">
          {job.waiting.detail}. Waiting since {clock(job.waiting.since)}
          {job.waiting.expires_at ? `; it fails at ${clock(job.waiting.expires_at)}` : ""}.
        </Alert>
      )}
      {job.error && (
        <Text size="sm" c="var(--deny)" my={4} style={{ overflowWrap: "anywhere" }}>
          {job.error.detail} ({job.error.code})
        </Text>
      )}
      <dl className="facts">
        {facts.map(([name, value]) =>
          value ? (
            <Fragment key={name}>
              <dt className="muted">{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ) : null,
        )}
      </dl>
      {job.attempts && job.attempts.length > 1 && <Attempts job={job} />}
    </div>
  );
}

function Attempts({ job }: { job: Job }) {
  return (
    <Table mt="xs" aria-label="Attempts">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Attempt</Table.Th>
          <Table.Th>Runner</Table.Th>
          <Table.Th>Ended</Table.Th>
          <Table.Th>Cost</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {job.attempts?.map((one) => (
          <Table.Tr key={one.attempt}>
            <Table.Td>{one.attempt}</Table.Td>
            <Table.Td>{one.runner}</Table.Td>
            <Table.Td>{one.state ? `${one.state}${one.error_code ? ` (${one.error_code})` : ""}` : "under way"}</Table.Td>
            <Table.Td>{one.cost_usd == null ? "" : usd(one.cost_usd)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
