import { Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { policiesQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { LayerList } from "./LayerList";
import { Packs } from "./Packs";
import { ruleCountsQuery } from "./queries";
import { RuleTable } from "./RuleTable";

const route = getRouteApi("/shell/policies");

/** The rules that hold for the reader, how often each spoke, and the layers that they come from. */
export function Policies() {
  const { q = "", ...range } = route.useSearch();
  const navigate = useNavigate({ from: "/policies" });
  const policies = useQuery(policiesQuery);
  const counts = useQuery(ruleCountsQuery(range));
  return (
    <Stack gap="md">
      <Title order={1}>Policies</Title>
      <Failed error={policies.error ?? counts.error} again={() => void Promise.all([policies.refetch(), counts.refetch()])} />
      {policies.data?.problems.map((problem) => (
        <p key={`${problem.file}:${problem.line} ${problem.text}`} className="note" role="alert">
          Not in force: <span className="mono">{problem.line ? `${problem.file}:${problem.line}` : problem.file}</span> {problem.text}
        </p>
      ))}
      <LayerList />
      <Packs />
      {policies.data && (
        <RuleTable
          rules={policies.data.rules}
          counts={counts.data ?? []}
          query={q}
          range={range}
          set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        />
      )}
      {policies.data && <p className="muted note">Revision {policies.data.revision}. Counted are the calls that you may see.</p>}
    </Stack>
  );
}
