import { Button, Group, NativeSelect, Stack, TextInput, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { decisionsQuery } from "../../api/queries";
import { DecisionRow } from "../../parts/DecisionRow";
import { Failed } from "../../parts/Failed";
import { DecisionDrawer } from "./DecisionDrawer";

const route = getRouteApi("/shell/decisions");
const EFFECTS = [
  { value: "", label: "Any effect" },
  { value: "deny", label: "Refused" },
  { value: "ask", label: "Asked" },
  { value: "rewrite", label: "Rewritten" },
  { value: "guidance", label: "Guided" },
  { value: "abstain", label: "No rule spoke" },
  { value: "allow", label: "Allowed by a rule" },
];
const OUTCOMES = [
  { value: "", label: "Any outcome" },
  { value: "ran", label: "Ran" },
  { value: "failed", label: "Failed" },
  { value: "refused", label: "Did not run" },
  { value: "ran_anyway", label: "Ran anyway" },
  { value: "rewrite_ignored", label: "Change ignored" },
];

/** The list of decisions. Its filters are the page's URL, so that a list can be sent to somebody. */
export function Decisions() {
  const { id, ...filters } = route.useSearch();
  const navigate = useNavigate({ from: "/decisions" });
  const found = useInfiniteQuery(decisionsQuery(filters, true));
  const filter = (name: string, value: string) =>
    void navigate({ search: (before) => ({ ...before, [name]: value || undefined }), replace: true });
  const open = useCallback(
    (one: string | undefined) => void navigate({ search: (before) => ({ ...before, id: one }) }),
    [navigate],
  );
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Title order={1}>Decisions</Title>
      <Group gap="sm" role="search" align="end">
        <NativeSelect label="Effect" data={EFFECTS} value={filters.effect ?? ""} onChange={(event) => filter("effect", event.currentTarget.value)} />
        <NativeSelect label="Outcome" data={OUTCOMES} value={filters.outcome ?? ""} onChange={(event) => filter("outcome", event.currentTarget.value)} />
        {(["rule", "user", "tool", "project"] as const).map((name) => (
          <TextInput
            key={`${name} ${filters[name] ?? ""}`}
            label={name[0]?.toUpperCase() + name.slice(1)}
            defaultValue={filters[name] ?? ""}
            onKeyDown={(event) => event.key === "Enter" && filter(name, event.currentTarget.value.trim())}
            onBlur={(event) => event.currentTarget.value.trim() !== (filters[name] ?? "") && filter(name, event.currentTarget.value.trim())}
            w={130}
          />
        ))}
        {filtered && (
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            Clear filters
          </Button>
        )}
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      <div className="panel" style={{ padding: 0 }}>
        <ul className="rows" aria-label="Decisions, the newest first">
          {items.map((one) => (
            <li key={one.id}>
              <DecisionRow one={one} open={open} />
            </li>
          ))}
        </ul>
        {found.isSuccess && items.length === 0 && (
          <p className="muted" style={{ padding: 16, margin: 0 }}>
            {filtered ? "No call matches. Clear the filters to see all." : "No calls yet. Run `baton hooks install` in a project."}
          </p>
        )}
      </div>
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
      <DecisionDrawer id={id} close={() => open(undefined)} />
    </Stack>
  );
}
