import { Button, Group, Loader, NativeSelect, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Effect } from "../../parts/Effect";
import { Failed } from "../../parts/Failed";
import { RuleTraces } from "../../parts/RuleTraces";
import { moment } from "../../parts/time";
import { revisionsQuery, simulationQuery } from "./queries";
import type { Simulation } from "./search";

const EFFECTS = { block: "deny", ask: "ask", allow: "allow" } as const;

/** What one revision says of the call; `close` takes it off the page. */
export function Answer({
  asked,
  revision,
  choose,
  close,
  label,
}: {
  asked: Simulation;
  revision: string;
  choose: (revision: string) => void;
  close?: (() => void) | undefined;
  label: string;
}) {
  const [all, setAll] = useState(false);
  const revisions = useQuery(revisionsQuery);
  const { data, error, refetch, isFetching } = useQuery(simulationQuery(asked, revision));
  const hits = new Map(data?.rules.map((rule) => [rule.id, rule.effect]));
  const rules = data?.trace.map((rule) => ({ ...rule, effect: hits.get(rule.id) })) ?? [];
  const known = revisions.data ?? [];
  const options = [
    { value: "", label: "The rules in force" },
    ...known.map((one) => ({ value: one.revision, label: `${one.revision}, active ${moment(one.activated_at)}` })),
    ...(revision && !known.some((one) => one.revision === revision) ? [{ value: revision, label: revision }] : []),
  ];
  return (
    <section className="panel" aria-label={label}>
      <Stack gap="sm">
        <Group justify="space-between" align="end" wrap="nowrap">
          <NativeSelect label={label} data={options} value={revision} onChange={(event) => choose(event.currentTarget.value)} style={{ minWidth: 0 }} />
          {close && (
            <Button variant="default" size="xs" onClick={close}>
              Remove
            </Button>
          )}
        </Group>
        <Failed error={error} again={() => void refetch()} />
        {!asked.tool && <p className="muted note">Write a call above and ask the rules.</p>}
        {isFetching && !data && <Loader size="sm" aria-label="Asking the rules" />}
        {data && !error && (
          <>
            <Group gap="xs" role="status">
              <Effect effect={data.modifiedInput && data.message ? "rewrite" : EFFECTS[data.decision]} />
              <span className="muted">
                {data.mode.enabled ? `mode ${data.mode.level}` : "mode off"}, revision {data.policy_revision}
              </span>
            </Group>
            {(data.reason ?? data.guidance ?? data.message) && <pre className="code muted">{data.reason ?? data.guidance ?? data.message}</pre>}
            <RuleTraces rules={rules} all={all} />
            <Group>
              <Button size="xs" variant="default" aria-expanded={all} onClick={() => setAll(!all)}>
                {all ? "Only matching rules" : "All rules"}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </section>
  );
}
