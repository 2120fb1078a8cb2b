import "@mantine/core/styles/Tabs.css";
import { Button, Group, Stack, Tabs, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowLeft, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { JobState } from "../../parts/JobState";
import { JobColumn } from "./JobColumn";
import { type Job, jobQuery, type JobSummary, siblingsQuery } from "./queries";
import "./delegations.css";

const route = getRouteApi("/shell/delegations/$job");
const MOST_BESIDE = 2;
const PHONE = "(max-width: 760px)";

/** One delegated job, and beside it those that belong to it: side by side, or as tabs on a phone. */
export function Delegation() {
  const { job: id } = route.useParams();
  const { beside } = route.useSearch();
  const navigate = useNavigate({ from: "/delegations/$job" });
  const phone = useMediaQuery(PHONE);
  const found = useQuery(jobQuery(id));
  const job = found.data;
  const siblings = useQuery({ ...siblingsQuery(job?.session_id ?? "", job?.user ?? ""), enabled: job !== undefined });
  const others = (siblings.data?.items ?? []).filter((one) => one.id !== id);
  const shown = beside === undefined ? (job ? together(job, others) : []) : beside.split(",").filter((one) => one && one !== "none");
  const columns = [id, ...shown.filter((one) => one !== id).slice(0, MOST_BESIDE)];
  const show = (ids: string[]) => void navigate({ search: { beside: ids.join(",") || "none" }, replace: true });
  return (
    <Stack gap="md">
      <Group gap="sm" wrap="nowrap">
        <Button component={Link} to="/delegations" variant="default" size="xs" aria-label="All delegations" style={{ flex: "none" }}>
          <IconArrowLeft size={16} aria-hidden />
        </Button>
        <Title order={1} style={{ overflowWrap: "anywhere" }}>
          {job?.title ?? "Delegation"}
        </Title>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {others.length > 0 && (
        <nav aria-label="Jobs of the same session">
          <ul className="chips">
            {others.slice(0, 12).map((one) => (
              <li key={one.id} className="chip">
                <JobState state={one.state} />
                <Link to="/delegations/$job" params={{ job: one.id }} className="cut">
                  {relation(job, one)}
                  {one.title}
                </Link>
                {columns.includes(one.id) ? (
                  <Button size="compact-xs" variant="default" aria-label={`Hide ${one.title}`} onClick={() => show(shown.filter((other) => other !== one.id))}>
                    <IconX size={12} aria-hidden />
                  </Button>
                ) : (
                  <Button size="compact-xs" variant="default" onClick={() => show([one.id, ...shown].slice(0, MOST_BESIDE))}>
                    Beside
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </nav>
      )}
      {job && phone && columns.length > 1 ? (
        <Tabs defaultValue={id} keepMounted={false}>
          <Tabs.List>
            {columns.map((one) => (
              <Tabs.Tab key={one} value={one}>
                <span className="cut tab-title">{one === id ? job.title : (others.find((other) => other.id === one)?.title ?? one)}</span>
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {columns.map((one) => (
            <Tabs.Panel key={one} value={one} pt="sm">
              <JobColumn id={one} />
            </Tabs.Panel>
          ))}
        </Tabs>
      ) : (
        job && (
          <div className="job-columns">
            {columns.map((one) => (
              <JobColumn key={one} id={one} titled={columns.length > 1} />
            ))}
          </div>
        )
      )}
    </Stack>
  );
}

/** The jobs that are shown beside one without being asked for: those that ran at its time, and those of its chain. */
function together(job: Job, others: JobSummary[]): string[] {
  const from = job.created_at;
  const to = job.ended_at ?? "9";
  return others
    .filter((one) => job.depends_on.includes(one.id) || (job.graph_id && job.graph_id === one.graph_id) || (one.created_at < to && (one.ended_at ?? "9") > from))
    .slice(0, MOST_BESIDE)
    .map((one) => one.id);
}

function relation(job: Job | undefined, other: JobSummary): string {
  if (job?.depends_on.includes(other.id)) return "before: ";
  if (job?.thread === other.id) return "thread: ";
  return "";
}
