import { Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { duration, many, usd } from "../../parts/figures";
import { JobState } from "../../parts/JobState";
import { clock } from "../../parts/time";
import { type SessionAgent, sessionGraphsQuery, sessionJobsQuery } from "./queries";

const DEEPEST = 12;

/** A session's agents below those that started them, and its jobs by the waves of their graphs. */
export function AgentTree({ id, user, agents: all }: { id: string; user: string; agents: SessionAgent[] }) {
  const jobs = useQuery(sessionJobsQuery(id, user));
  const graphs = useQuery(sessionGraphsQuery(id, user));
  const own = new Set(jobs.data?.items.map((job) => job.id));
  const agents = all.filter((agent) => !own.has(agent.id)); // a job's agent is shown as the job
  const known = new Set(agents.map((agent) => agent.id));
  const tops = agents.filter((agent) => !known.has(agent.parent) || agent.parent === agent.id);
  const loose = (jobs.data?.items ?? []).filter((job) => !job.graph_id);
  const nothing = agents.length === 0 && jobs.isSuccess && jobs.data.items.length === 0 && graphs.isSuccess && graphs.data.items.length === 0;
  return (
    <div className="panel agent-tree">
      <Failed error={jobs.error ?? graphs.error} again={() => void Promise.all([jobs.refetch(), graphs.refetch()])} />
      {nothing && <Text c="dimmed">It started no agent and delegated no job.</Text>}
      {agents.length > 0 && (
        <>
          <Title order={2}>Agents</Title>
          <ul aria-label="Agents">
            <li>
              <strong>main</strong>
              <Branch agents={agents} children={tops} depth={0} />
            </li>
          </ul>
        </>
      )}
      {loose.length > 0 && (
        <>
          <Title order={2}>Jobs</Title>
          <ul aria-label="Jobs">
            {loose.map((job) => (
              <li key={job.id}>
                <JobState state={job.state} />{" "}
                <Link to="/delegations/$job" params={{ job: job.id }}>
                  {job.title}
                </Link>{" "}
                <span className="muted">
                  → {job.agent_type || job.provider}
                  {job.usage.cost_usd == null ? "" : ` · ${usd(job.usage.cost_usd)}`}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {(graphs.data?.items ?? []).map((graph) => (
        <section key={graph.id} aria-label={`Graph ${graph.id}`}>
          <Title order={2}>
            <Link to="/graphs/$id" params={{ id: graph.id }}>
              Graph {graph.id.slice(0, 14)}
            </Link>
          </Title>
          <ol>
            {graph.waves.map((names, number) => (
              <li key={number}>
                Wave {number + 1}
                <ul>
                  {names.map((name) => {
                    const task = graph.tasks[name];
                    return (
                      task && (
                        <li key={name}>
                          <JobState state={task.state} />{" "}
                          {task.job_id ? (
                            <Link to="/delegations/$job" params={{ job: task.job_id }}>
                              {name}
                            </Link>
                          ) : (
                            name
                          )}{" "}
                          <span className="muted">→ {task.agent_type}</span>
                        </li>
                      )
                    );
                  })}
                </ul>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
  );
}

function Branch({ agents, children, depth }: { agents: SessionAgent[]; children: SessionAgent[]; depth: number }) {
  if (children.length === 0 || depth > DEEPEST) return null;
  return (
    <ul>
      {children.map((agent) => (
        <li key={agent.id} data-agent={agent.id}>
          <strong>{agent.type || "agent"}</strong> <span className="mono muted">{agent.id.slice(0, 12)}</span>{" "}
          <span className="muted">
            {clock(agent.first_at)}, {duration(agent.first_at, agent.last_at)} · {many(agent.calls, "call")}
            {agent.blocked > 0 && `, ${agent.blocked} refused`}
            {agent.model && ` · ${agent.model}`}
            {agent.usd != null && ` · ${usd(agent.usd)}`}
            {agent.is_over ? " · ended" : ""}
          </span>
          <Branch agents={agents} children={agents.filter((one) => one.parent === agent.id && one.id !== agent.id)} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
}
