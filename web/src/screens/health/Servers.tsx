import { Group, Stack, Text, Title } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { many } from "../../parts/figures";
import { RecordTable } from "../../parts/RecordTable";
import { State } from "../../parts/State";
import { moment, relative } from "../../parts/time";

const NAMES = { redis: "Redis", database: "Database", disk: "Disk" } as const;

/** Dependencies since when, the servers with their workers, and the queue of jobs. */
export function Servers({ found }: { found: Schemas["ServersModel"] }) {
  const workers = found.servers.flatMap((server) => server.workers.map((worker) => ({ ...worker, server })));
  const revisions = new Set(workers.map(({ revision }) => revision));
  const versions = new Set(workers.map(({ version }) => version));
  const queue = found.queue;
  return (
    <>
      <section className="panel" aria-label="Dependencies">
        <Title order={2} mb="xs">
          Dependencies
        </Title>
        <Stack gap="xs">
          {found.dependencies.map((one) => (
            <Group key={one.name} gap="sm">
              <State is={one.state === "up" ? "good" : "bad"}>
                {NAMES[one.name]} {one.state}
              </State>
              <Text size="sm" c="dimmed">
                since {moment(one.since)} · {one.place}
              </Text>
            </Group>
          ))}
        </Stack>
      </section>
      <section className="panel" aria-label="Servers and workers">
        <Title order={2} mb="xs">
          Servers and workers
        </Title>
        {revisions.size > 1 && <State is="bad">Workers have different policies. If this lasts longer than a minute, check the log.</State>}
        {versions.size > 1 && <State is="bad">Workers have different versions.</State>}
        <RecordTable
          label="Servers and workers"
          rows={workers}
          id={(one) => `${one.server.host} ${one.pid}`}
          empty="No worker has reported yet."
          columns={[
            { name: "Server", cell: (one) => `${one.server.host} (${one.server.pid})` },
            { name: "Worker", cell: (one) => one.pid },
            { name: "State", cell: (one) => <State is={one.phase === "ready" ? "good" : "bad"}>{one.phase}</State> },
            { name: "Version", cell: (one) => one.version },
            { name: "Policies", cell: (one) => <span className="mono">{one.revision}</span> },
            { name: "Started", cell: (one) => <span title={moment(one.started_at)}>{relative(one.started_at)}</span> },
            { name: "Seen", cell: (one) => relative(one.seen_at) },
          ]}
        />
      </section>
      {queue && (
        <section className="panel" aria-label="Queue of jobs">
          <Title order={2} mb="xs">
            Queue of jobs
          </Title>
          <Group gap="lg">
            {Object.entries(queue.jobs).map(([state, count]) => (
              <span key={state}>
                <b>{count}</b> <span className="muted">{state.replaceAll("_", " ")}</span>
              </span>
            ))}
          </Group>
          <Text size="sm" mt="xs">
            <State is={(queue.jobs.queued ?? 0) > 0 && queue.runners_alive === 0 ? "bad" : queue.runners_alive > 0 ? "good" : "idle"}>
              {many(queue.runners_alive, "runner")} alive
            </State>
            {queue.oldest_s > 0 && ` · the oldest queued job waits for ${Math.round(queue.oldest_s)} s`}
          </Text>
        </section>
      )}
    </>
  );
}
