import type { Me, Schemas } from "../../api/client";
import { agentName } from "../agents";

type Permission = Schemas["PendingQuestionModel"];
type Job = Schemas["JobSummary"];

/** What waits for a person, as a card shows it: a delegated agent's call, a job to confirm, or later another approval. */
export interface Question {
  kind: "permission" | "job";
  id: string;
  /** What is asked, in a few words. */
  title: string;
  agent: string;
  user: string;
  workspace: string;
  session: string;
  job: string;
  jobTitle: string;
  tool: string;
  command: string;
  programs: Permission["programs"];
  /** Pairs of character positions in the command. */
  risky: number[][];
  unparsed: string;
  edits: Permission["edits"];
  /** What else the call was given, where neither a command nor an edit says it. */
  input: string;
  rule: string;
  why: string;
  decision: string;
  since: string;
  /** When it is denied by itself; a job has none. */
  deadline: string | undefined;
  mayAnswer: boolean;
  /** Who alone may answer, where that is another person. */
  answerer: string;
}

const LONGEST_INPUT = 4_000;

/** Make a question of a delegated agent's request. */
export function ofPermission(one: Permission): Question {
  const given = one.request.tool_input;
  const shown = one.command || one.edits.length > 0 ? "" : JSON.stringify(given ?? {}, null, 2).slice(0, LONGEST_INPUT);
  return {
    kind: "permission",
    id: one.id,
    title: `${agentName(one.agent)} asks to use ${one.tool || "a tool"}`,
    agent: one.agent,
    user: one.user,
    workspace: one.workspace,
    session: one.session_id,
    job: one.job,
    jobTitle: one.job_title,
    tool: one.tool,
    command: one.command,
    programs: one.programs,
    risky: one.risky,
    unparsed: one.unparsed,
    edits: one.edits,
    input: shown,
    rule: one.rule,
    why: one.why,
    decision: one.decision_id,
    since: one.created_at,
    deadline: one.deadline,
    mayAnswer: one.may_answer,
    answerer: one.runner_user,
  };
}

/** Make a question of a job that waits for approval; who may answer, the rights of whoever is signed in say. */
export function ofJob(job: Job, me: Me): Question {
  const reach = me.rights["jobs.decide"];
  const own = job.user === me.user;
  return {
    kind: "job",
    id: job.id,
    title: `Start ${job.agent_type || agentName(job.provider)}?`,
    agent: job.agent_type || job.provider,
    user: job.user,
    workspace: job.workspace,
    session: job.session_id,
    job: job.id,
    jobTitle: job.title,
    tool: "",
    command: "",
    programs: [],
    risky: [],
    unparsed: "",
    edits: [],
    input: "",
    rule: "",
    why: "The job was submitted to be confirmed before it starts.",
    decision: "",
    since: job.created_at,
    deadline: undefined,
    mayAnswer: reach === "organisation" || (reach === "team" && (own || job.team === me.team)) || (reach === "own" && own),
    answerer: "",
  };
}
