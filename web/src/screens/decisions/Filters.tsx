import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import type { DecisionFilters } from "../../api/queries";

const EFFECTS = [
  { value: "", label: "Any effect" },
  { value: "deny", label: "Refused" },
  { value: "ask", label: "Asked" },
  { value: "rewrite", label: "Rewritten" },
  { value: "allow", label: "Allowed by a rule" },
  { value: "abstain", label: "No rule spoke" },
  { value: "guidance", label: "Guided" },
  { value: "shadow", label: "Would refuse (shadow)" },
  { value: "lifted", label: "Lifted" },
];
const OUTCOMES = [
  { value: "", label: "Any outcome" },
  { value: "ran", label: "Ran" },
  { value: "failed", label: "Failed" },
  { value: "refused", label: "Did not run" },
  { value: "ran_anyway", label: "Ran anyway" },
  { value: "rewrite_ignored", label: "Change ignored" },
  { value: "unknown", label: "Not known" },
];
const FIRST = [
  ["q", "Text"],
  ["rule", "Rule"],
  ["user", "User"],
] as const;
const MORE = [
  ["tool", "Tool"],
  ["client", "Client"],
  ["agent_type", "Agent"],
  ["project", "Project"],
  ["session_id", "Session"],
  ["revision", "Revision"],
] as const;
const MOMENTS = [
  ["since", "Since"],
  ["until", "Until"],
] as const;

/** The filters of the list; what is chosen goes into the page's address at once. */
export function Filters({
  filters,
  set,
  clear,
}: {
  filters: DecisionFilters;
  set: (name: keyof DecisionFilters, value: string) => void;
  clear: () => void;
}) {
  const text = ([name, label]: readonly [keyof DecisionFilters, string]) => (
    <TextInput
      key={`${name} ${filters[name] ?? ""}`}
      label={label}
      defaultValue={filters[name] ?? ""}
      onKeyDown={(event) => event.key === "Enter" && set(name, event.currentTarget.value.trim())}
      onBlur={(event) => event.currentTarget.value.trim() !== (filters[name] ?? "") && set(name, event.currentTarget.value.trim())}
      w={name === "q" ? 180 : 130}
    />
  );
  return (
    <Group gap="sm" role="search" align="end">
      <NativeSelect label="Effect" data={EFFECTS} value={filters.effect ?? ""} onChange={(event) => set("effect", event.currentTarget.value)} />
      <NativeSelect label="Outcome" data={OUTCOMES} value={filters.outcome ?? ""} onChange={(event) => set("outcome", event.currentTarget.value)} />
      {FIRST.map(text)}
      <details open={[...MORE, ...MOMENTS].some(([name]) => filters[name])}>
        <summary>More filters</summary>
        <Group gap="sm" align="end">
          {MORE.map(text)}
          {MOMENTS.map(([name, label]) => (
            <TextInput
              key={name}
              type="datetime-local"
              label={label}
              value={local(filters[name])}
              onChange={(event) => set(name, event.currentTarget.value ? new Date(event.currentTarget.value).toISOString() : "")}
              w={190}
            />
          ))}
        </Group>
      </details>
      {Object.values(filters).some(Boolean) && (
        <Button variant="default" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** A moment of the API as a field for dates and times shows it: in the reader's own time, to the minute. */
function local(moment: string | undefined): string {
  if (!moment) return "";
  const at = new Date(moment);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
