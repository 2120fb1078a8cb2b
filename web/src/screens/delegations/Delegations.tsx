import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { meQuery } from "../../api/queries";
import { agentName } from "../../parts/agents";
import { Failed } from "../../parts/Failed";
import { usd } from "../../parts/figures";
import { type Field, FilterBar } from "../../parts/FilterBar";
import { JobState } from "../../parts/JobState";
import { Time } from "../../parts/Time";
import { type JobSummary, jobsQuery } from "./queries";
import "./delegations.css";

const route = getRouteApi("/shell/delegations");
const STATES = [
  { value: "", label: "Any state" },
  { value: "pending_approval", label: "Waits for approval" },
  { value: "queued", label: "Queued" },
  { value: "running", label: "Running" },
  { value: "awaiting_permission", label: "Asks you" },
  { value: "completed", label: "Completed" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
];

const FIELDS: readonly Field[] = [
  { name: "state", label: "State", of: STATES },
  { name: "provider", label: "Agent" },
  { name: "user", label: "User", of: "user" },
  { name: "workspace", label: "Workspace" },
];

/** The list of delegated jobs, the newest first; its filters are the page's URL. */
export function Delegations() {
  const filters = route.useSearch();
  const navigate = useNavigate({ from: "/delegations" });
  const me = useQuery(meQuery);
  const found = useInfiniteQuery(jobsQuery(filters));
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Delegations</Title>
        <Button component={Link} to="/delegations/new" leftSection={<IconPlus size={16} aria-hidden />}>
          Delegate a task
        </Button>
      </Group>
      <FilterBar
        fields={FIELDS}
        filters={filters}
        set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        clear={() => void navigate({ search: {} })}
      />
      <Failed error={found.error} again={() => void found.refetch()} />
      <div className="panel" style={{ padding: 0 }}>
        <ul className="rows" aria-label="Delegations, the newest first">
          {items.map((job) => (
            <li key={job.id}>
              <JobRow job={job} of={job.user === me.data?.user ? "" : job.user} />
            </li>
          ))}
        </ul>
        {found.isSuccess && items.length === 0 && (
          <p className="muted" style={{ padding: 16, margin: 0 }}>
            {filtered ? (
              "No delegation matches. Clear the filters to see all."
            ) : (
              <>
                Nothing was delegated yet. <Link to="/delegations/new">Delegate a first task</Link>, or let your agent call{" "}
                <code>delegate.run</code>.
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

function JobRow({ job, of }: { job: JobSummary; of: string }) {
  const why = job.waiting?.detail ?? job.error?.detail ?? (job.state === "completed" ? "" : job.progress);
  return (
    <Link to="/delegations/$job" params={{ job: job.id }} className="job-row" data-job={job.id}>
      <JobState state={job.state} waiting={job.waiting?.reason} />
      <span className="job-title">
        <span className="cut">{job.title}</span>
        {why && (
          <Text size="xs" c="dimmed" className="cut">
            {why}
          </Text>
        )}
      </span>
      <span className="muted cut">
        → {job.agent_type || agentName(job.provider)}
        {of && ` · ${of}`}
      </span>
      <span className="muted">{job.usage.cost_usd == null ? "" : usd(job.usage.cost_usd)}</span>
      <span className="muted">
        <Time at={job.created_at} />
      </span>
    </Link>
  );
}
