import { Alert, Badge, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconFileText, IconFlask, IconListSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Decision } from "../../api/client";
import { Effect } from "../Effect";
import { Facts } from "../Facts";
import { Failed } from "../Failed";
import { ReadLine } from "../ReadLine";
import { RuleTraces } from "../RuleTraces";
import { moment } from "../time";
import { useKeys } from "../keys";
import { explanationQuery } from "./queries";
import { ReportForm } from "./ReportForm";
import { Ways } from "./Ways";

const OUTCOMES: Record<string, string> = {
  ran: "It ran.",
  failed: "It ran and failed.",
  refused: "It did not run.",
  rewrite_ignored: "It ran, but the client ignored the change.",
  changed_by_other: "It ran with an input changed by another hook or program.",
  unknown: "The outcome is unknown.",
};

/** A decision with its explanation: what was decided, by which rules and why not by the others, and what can be done. */
export function DecisionDetails({ one }: { one: Decision }) {
  const explained = useQuery(explanationQuery(one.id));
  const [ways, setWays] = useState(false);
  const [all, setAll] = useState(false);
  const found = explained.data;
  const isCall = one.event === "PreToolUse";
  const stopped = one.effect === "deny" || one.effect === "ask";
  useKeys(
    "Decision",
    isCall
      ? [
          { press: "e", label: "Explain: why the other rules did not match", run: () => setAll(!all) },
          { press: "t", label: "Make a rule or a test, lift or unlock the rule, ask for an exception", run: () => setWays(true) },
        ]
      : [],
    { inDialog: true },
  );
  const recorded = one.rules.map((rule) => ({ id: rule.id, decision: "", effect: rule.effect }));
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Effect effect={one.effect} />
        {one.overridden && <Badge variant="outline">overridden</Badge>}
      </Group>
      {one.outcome === "ran_anyway" && (
        <Alert color="red" variant="filled" role="alert" title="It ran although it was refused" icon={<IconAlertTriangle />} className="alarm">
          The client did not obey the answer. Check its hooks with `baton doctor` on the machine of {one.user}.
        </Alert>
      )}
      {found?.line ? <ReadLine line={found.line} /> : <Called one={one} />}
      {one.outcome && OUTCOMES[one.outcome] && <Text size="sm">{OUTCOMES[one.outcome]}</Text>}
      {ways && <Ways one={one} close={() => setWays(false)} />}
      {found?.reason && (
        <section aria-label="Answer to the agent">
          <h2 className="small">Answer to the agent</h2>
          <pre className="code muted">{found.reason}</pre>
        </section>
      )}
      <section aria-label="Rules">
        <Group justify="space-between">
          <h2 className="small">Rules</h2>
          {isCall && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconListSearch size={14} aria-hidden />}
              aria-expanded={all}
              onClick={() => setAll(!all)}
            >
              {all ? "Only matching rules" : "All rules"}
            </Button>
          )}
        </Group>
        {explained.isPending && isCall && <Loader size="sm" aria-label="Loading the explanation" />}
        <RuleTraces rules={found?.rules ?? recorded} all={all} />
        {found?.missing.map((missing) => (
          <p key={missing} className="note">
            The explanation is incomplete: {missing}.
          </p>
        ))}
        <Failed error={explained.error} again={() => void explained.refetch()} />
      </section>
      {isCall && (
        <Group gap="xs">
          <Button variant="default" leftSection={<IconFileText size={16} aria-hidden />} onClick={() => setWays(true)}>
            {stopped ? "Change this…" : "Make a rule…"}
          </Button>
          <Button
            renderRoot={(props) => <Link to="/simulator" search={{ from: one.id }} {...props} />}
            variant="default"
            leftSection={<IconFlask size={16} aria-hidden />}
          >
            Open in the simulator
          </Button>
        </Group>
      )}
      {isCall && one.effect !== "abstain" && <ReportForm decisionId={one.id} />}
      <Facts
        facts={[
          ["When", moment(one.at)],
          ["User", `${one.user} (${one.team})`],
          ["Client", [one.client, found?.client_version].filter(Boolean).join(" ")],
          ["Tool", one.tool],
          ["Agent", one.agent_type],
          ["Project", one.project],
          ["Session", one.session_id && <SessionLink id={one.session_id} />],
          ["Mode", one.mode_enabled ? `${one.mode_level}, set for the ${one.mode_scope}` : "off"],
          ...(found?.mode.settings ?? []).map((setting): [string, string] => [
            `… for the ${setting.scope.replace("_", " and ")}`,
            `${setting.enabled ? setting.level : "off"}, by ${setting.set_by ?? "nobody"}` +
              (setting.set_at ? `, ${moment(setting.set_at)}${setting.set_at > one.at ? " (after this decision)" : ""}` : ""),
          ]),
          ["Revision", one.revision],
          ["Decided in", `${one.elapsed_ms.toFixed(2)} ms`],
          ["Ran for", one.duration_ms != null ? `${one.duration_ms} ms` : ""],
          ["Model", one.model_injected ? `set to ${one.model_injected}` : one.model_used],
          ["Decided without", one.degraded.join(", ")],
        ]}
      />
    </Stack>
  );
}

function SessionLink({ id }: { id: string }) {
  return (
    <Link to="/decisions" search={{ session_id: id }}>
      {id}
    </Link>
  );
}

function Called({ one }: { one: Decision }) {
  const text = one.command || one.paths.join("\n");
  return text ? <pre className="code">{text}</pre> : null;
}
