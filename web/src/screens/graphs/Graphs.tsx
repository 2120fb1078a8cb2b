import { Button, Stack, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { type Field, FilterBar } from "../../parts/FilterBar";
import { JobState } from "../../parts/JobState";
import { Time } from "../../parts/Time";
import { type Graph, graphsQuery } from "./queries";
import "./graphs.css";

const route = getRouteApi("/shell/graphs");
const FIELDS: readonly Field[] = [
  { name: "user", label: "User", of: "user" },
  { name: "session_id", label: "Session" },
];

/** The list of task graphs, the newest first. */
export function Graphs() {
  const filters = route.useSearch();
  const navigate = useNavigate({ from: "/graphs" });
  const found = useInfiniteQuery(graphsQuery(filters));
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Title order={1}>Graphs</Title>
      <FilterBar
        fields={FIELDS}
        filters={filters}
        set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        clear={() => void navigate({ search: {} })}
      />
      <Failed error={found.error} again={() => void found.refetch()} />
      <div className="panel" style={{ padding: 0 }}>
        <ul className="rows" aria-label="Task graphs, the newest first">
          {items.map((graph) => (
            <li key={graph.id}>
              <GraphRow graph={graph} />
            </li>
          ))}
        </ul>
        {found.isSuccess && items.length === 0 && (
          <p className="muted" style={{ padding: 16, margin: 0 }}>
            {filtered ? (
              "No task graph matches. Clear the filters to see all."
            ) : (
              <>
                No task graph yet. An orchestrator makes one with <code>graph_create</code>, you with <code>baton jobs graph create</code>.
              </>
            )}
          </p>
        )}
      </div>
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  );
}

function GraphRow({ graph }: { graph: Graph }) {
  const tasks = Object.values(graph.tasks);
  const ended = tasks.filter((task) => task.state === "completed").length;
  return (
    <Link to="/graphs/$id" params={{ id: graph.id }} className="graph-row" data-graph={graph.id}>
      <JobState state={graph.state} />
      <span className="cut">{Object.keys(graph.tasks).join(", ")}</span>
      <span className="muted">
        {graph.waves.length} waves · {ended} of {tasks.length} done
      </span>
      <span className="muted">
        <Time at={graph.created_at} />
      </span>
    </Link>
  );
}
