import type { DecisionFilters } from "../../api/queries";
import { type Field, FilterBar } from "../../parts/FilterBar";

const EFFECTS = [
  { value: "", label: "Any effect" },
  { value: "deny", label: "Refused" },
  { value: "ask", label: "Asked" },
  { value: "rewrite", label: "Rewritten" },
  { value: "allow", label: "Allowed by a rule" },
  { value: "abstain", label: "No rule matched" },
  { value: "guidance", label: "Guided" },
  { value: "shadow", label: "Would refuse (shadow)" },
  { value: "lifted", label: "Lifted" },
];
const OUTCOMES = [
  { value: "", label: "Any outcome" },
  { value: "ran", label: "Ran" },
  { value: "failed", label: "Failed" },
  { value: "refused", label: "Did not run" },
  { value: "ran_anyway", label: "Ran although refused" },
  { value: "rewrite_ignored", label: "Change ignored" },
  { value: "changed_by_other", label: "Changed by another hook" },
  { value: "unknown", label: "Not known" },
];
const FIRST: readonly Field[] = [
  { name: "q", label: "Text", placeholder: "tool, command or path" },
  { name: "effect", label: "Effect", of: EFFECTS },
  { name: "rule", label: "Rule", of: "rule" },
  { name: "user", label: "User", of: "user" },
  { name: "project", label: "Project", of: "project" },
];
const MORE: readonly Field[] = [
  { name: "outcome", label: "Outcome", of: OUTCOMES },
  { name: "tool", label: "Tool", of: "tool" },
  { name: "client", label: "Client", of: "client" },
  { name: "session_id", label: "Session", of: "session" },
  { name: "agent_type", label: "Agent" },
  { name: "revision", label: "Revision" },
];

/** The filters of the list; what is chosen goes into the page's address at once. */
export function Filters({ filters, set, clear }: { filters: DecisionFilters; set: (filters: DecisionFilters) => void; clear: () => void }) {
  return <FilterBar fields={FIRST} more={MORE} filters={filters} set={set} clear={clear} />;
}
