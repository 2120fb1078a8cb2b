import type { Me, Schemas } from "../../api/client";
import { agentName } from "../agents";

type Job = Schemas["JobSummary"];
type Approval = Schemas["ApprovalModel"];

/** What waits for a person, as a card shows it: a delegated agent's call, a session's call, or a job to confirm. */
export interface Question {
  kind: "approval" | "job";
  id: string;
  /** What is asked, in a few words. */
  title: string;
  agent: string;
  user: string;
  /** Where it runs. */
  workspace: string;
  session: string;
  job: string;
  jobTitle: string;
  tool: string;
  command: string;
  programs: Approval["programs"];
  /** Pairs of character positions in the command. */
  risky: number[][];
  unparsed: string;
  edits: Approval["edits"];
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

/** Order questions: first those that whoever is signed in may answer, the oldest of them ahead. */
export function inTurn(one: Question, other: Question): number {
  return Number(other.mayAnswer) - Number(one.mayAnswer) || (one.since < other.since ? -1 : 1);
}

/** Make a question of a request of a session's call or of a job's agent. */
export function ofApproval(one: Approval): Question {
  const whom = one.approvers.map((who) => (who === "self" ? one.user : who === "lead" ? "a lead" : who.replace(/^user:/, ""))).join(" or ");
  return {
    kind: "approval",
    id: one.id,
    title: `${agentName(one.client)} asks to use ${one.tool || "a tool"}`,
    agent: one.client,
    user: one.user,
    workspace: one.workspace || (one.folder === one.project ? "" : one.folder),
    session: one.session_id,
    job: one.job,
    jobTitle: one.job_title || one.project,
    tool: one.tool,
    command: one.command,
    programs: one.programs,
    risky: one.risky,
    unparsed: one.unparsed,
    edits: one.edits,
    input: one.command || one.edits.length > 0 ? one.others : one.input,
    rule: one.rule,
    why: one.reason,
    decision: one.decision_id,
    since: one.created_at,
    deadline: one.expires_at,
    mayAnswer: one.may_answer,
    answerer: one.may_answer ? "" : whom,
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
    why: "The job needs confirmation before it starts.",
    decision: "",
    since: job.created_at,
    deadline: undefined,
    mayAnswer: reach === "organisation" || (reach === "team" && (own || job.team === me.team)) || (reach === "own" && own),
    answerer: "",
  };
}
