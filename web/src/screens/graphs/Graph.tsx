import { Alert, Badge, Button, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { IconAlertTriangle, IconArrowLeft, IconCheck } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { api, body, type Schemas } from "../../api/client";
import { Confirm } from "../../parts/Confirm";
import { Failed } from "../../parts/Failed";
import { JobState } from "../../parts/JobState";
import { clock, moment } from "../../parts/time";
import { complianceQuery, type Graph as GraphData, graphQuery, type Task } from "./queries";
import "./graphs.css";

const route = getRouteApi("/shell/graphs/$id");
type Wave = Schemas["WaveReportModel"];

const LONGEST_TITLE = 60;

/** One task graph: its waves as columns, the states of their tasks, and how well it kept to them. */
export function Graph() {
  const { id } = route.useParams();
  const found = useQuery(graphQuery(id));
  const compliance = useQuery(complianceQuery(id));
  const graph = found.data;
  return (
    <Stack gap="md">
      <Group gap="sm" wrap="nowrap">
        <Button component={Link} to="/graphs" variant="default" size="xs" aria-label="All graphs" style={{ flex: "none" }}>
          <IconArrowLeft size={16} aria-hidden />
        </Button>
        <Title order={1} style={{ overflowWrap: "anywhere" }}>
          {graph ? Object.keys(graph.tasks).join(", ").slice(0, LONGEST_TITLE) : "Graph"}
        </Title>
        {graph && <JobState state={graph.state} />}
      </Group>
      <Failed error={found.error ?? compliance.error} again={() => void Promise.all([found.refetch(), compliance.refetch()])} />
      {!graph && !found.error && <Loader aria-label="Loading" />}
      {graph && (
        <>
          <Text size="sm" c="dimmed">
            <span className="mono">{id.slice(0, 18)}</span> · {graph.level}, barrier {graph.barrier}, window {graph.window_ms} ms, then {graph.on_window_close.replace("_", " ")} ·{" "}
            <Link to="/sessions/$id" params={{ id: graph.session_id }} search={{ user: graph.user }}>
              session {graph.session_id.slice(0, 24)}
            </Link>{" "}
            · {moment(graph.created_at)}
          </Text>
          <div className="waves" role="group" aria-label="Waves">
            {graph.waves.map((names, number) => (
              <WaveColumn key={number} graph={graph} names={names} number={number + 1} wave={compliance.data?.waves[number]} />
            ))}
          </div>
          <Violations log={compliance.data?.log ?? []} />
        </>
      )}
    </Stack>
  );
}

function WaveColumn({ graph, names, number, wave }: { graph: GraphData; names: string[]; number: number; wave: Wave | undefined }) {
  const queries = useQueryClient();
  const reopen = useMutation({
    mutationFn: () => body(api.POST("/graphs/{graph_id}/waves/{wave}/reopen", { params: { path: { graph_id: graph.id, wave: number } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["graph", graph.id] }),
  });
  return (
    <section className="wave" aria-label={`Wave ${number}`}>
      <Group justify="space-between">
        <Title order={2}>Wave {number}</Title>
        {wave && wave.state !== "waiting" && (
          <Badge variant="outline" style={{ color: wave.compliant ? "var(--allow)" : "var(--deny)", borderColor: "currentColor" }} leftSection={wave.compliant ? <IconCheck size={12} aria-hidden /> : <IconAlertTriangle size={12} aria-hidden />}>
            {wave.compliant ? "kept" : "broken"}
          </Badge>
        )}
      </Group>
      <Text size="sm" c="dimmed">
        {wave?.spread_ms == null ? "Not started" : `Spread ${Math.round(wave.spread_ms)} of ${graph.window_ms} ms`}
        {wave && wave.auto_spawned.length > 0 && ` · ${wave.auto_spawned.length} by the server`}
        {wave && wave.never_started.length > 0 && ` · never started: ${wave.never_started.join(", ")}`}
      </Text>
      {wave?.spread_ms != null && (
        <meter className="spread" min={0} max={graph.window_ms} value={Math.min(wave.spread_ms, graph.window_ms)} aria-label={`Spread of wave ${number}`} />
      )}
      <ul className="tasks">
        {names.map((name) => {
          const task = graph.tasks[name];
          return task ? (
            <li key={name}>
              <TaskCard name={name} task={task} />
            </li>
          ) : null;
        })}
      </ul>
      {wave && wave.never_started.length > 0 && graph.state !== "completed" && graph.state !== "failed" && (
        <Confirm
          label="Reopen"
          question="The window of this wave has closed with tasks left. Reopening it is recorded as a violation. Continue?"
          yes="Reopen the wave"
          disabled={reopen.isPending}
          onYes={() => reopen.mutate()}
        />
      )}
      <Failed error={reopen.error} again={() => reopen.reset()} />
    </section>
  );
}

function TaskCard({ name, task }: { name: string; task: Task }) {
  return (
    <article className="task" data-task={name} data-state={task.state}>
      <JobState state={task.state} />
      <div style={{ overflowWrap: "anywhere" }}>
        {task.job_id ? (
          <Link to="/delegations/$job" params={{ job: task.job_id }}>
            {name}
          </Link>
        ) : (
          <strong>{name}</strong>
        )}{" "}
        <span className="muted">→ {task.agent_type}</span>
      </div>
      {task.description && <Text size="sm">{task.description}</Text>}
      <Text size="xs" c="dimmed">
        {[
          task.depends_on.length > 0 && `after ${task.depends_on.join(", ")}`,
          task.spawned_at && `started ${clock(task.spawned_at)}${task.auto_spawned ? " by the server" : ""}`,
          task.ended_at && `ended ${clock(task.ended_at)}`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </Text>
      {task.detail && (
        <Text size="sm" c="var(--deny)" style={{ overflowWrap: "anywhere" }}>
          {task.detail}
        </Text>
      )}
    </article>
  );
}

const KINDS: Record<string, string> = { wrong_wave: "Wrong wave", parallel_window: "Outside the window", reopened: "Reopened" };

function Violations({ log }: { log: Schemas["ViolationModel"][] }) {
  if (log.length === 0) return null;
  return (
    <Alert variant="outline" color="red" styles={{ title: { color: "var(--deny)" } }} icon={<IconAlertTriangle size={18} aria-hidden />} title={`${log.length} ${log.length === 1 ? "violation" : "violations"} of the waves`}>
      <ul style={{ margin: 0, paddingLeft: 16 }}>
        {log.map((one, place) => (
          <li key={place} style={{ overflowWrap: "anywhere" }}>
            <time dateTime={one.at}>{clock(one.at)}</time> {KINDS[one.kind] ?? one.kind}, wave {one.wave}: {one.detail}
            {one.refused && " (refused)"}
          </li>
        ))}
      </ul>
    </Alert>
  );
}
