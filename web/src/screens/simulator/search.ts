/** A call to ask about, and who and what is asked; `from` is a decision whose call it is. `a` and `b` are revisions. */
export interface Simulation {
  from?: string | undefined;
  tool?: string | undefined;
  command?: string | undefined;
  input?: string | undefined;
  level?: string | undefined;
  history?: string | undefined;
  project?: string | undefined;
  user?: string | undefined;
  role?: string | undefined;
  a?: string | undefined;
  b?: string | undefined;
}
export const NAMES = ["from", "tool", "command", "input", "level", "history", "project", "user", "role", "a", "b"] as const;
