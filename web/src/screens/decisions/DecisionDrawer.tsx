import { Badge, Code, Drawer, Group, Loader, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { decisionQuery } from "../../api/queries";
import { Effect } from "../../parts/Effect";
import { Failed } from "../../parts/Failed";
import { moment } from "../../parts/time";

const OUTCOMES: Record<string, string> = {
  ran: "It ran.",
  failed: "It ran and failed.",
  refused: "It did not run.",
  ran_anyway: "It ran although it was refused.",
  rewrite_ignored: "It ran, and what was changed was ignored.",
  unknown: "What became of it is not known.",
};

/** One decision, whole. */
export function DecisionDrawer({ id, close }: { id: string | undefined; close: () => void }) {
  return (
    <Drawer
      opened={id !== undefined}
      onClose={close}
      position="right"
      size="lg"
      title="Decision"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {id && <Body id={id} />}
    </Drawer>
  );
}

function Body({ id }: { id: string }) {
  const { data: one, error, refetch } = useQuery(decisionQuery(id));
  if (!one) return error ? <Failed error={error} again={() => void refetch()} /> : <Loader aria-label="Loading" />;
  const facts: [string, string | null | undefined][] = [
    ["When", moment(one.at)],
    ["Who", `${one.user} (${one.team})`],
    ["Client", one.client],
    ["Tool", one.tool],
    ["Agent", one.agent_type],
    ["Project", one.project],
    ["Session", one.session_id],
    ["Mode", one.mode_enabled ? `${one.mode_level} (${one.mode_scope})` : "off"],
    ["Revision", one.revision],
    ["Decided in", `${one.elapsed_ms.toFixed(2)} ms`],
    ["Model", one.model_injected ? `set to ${one.model_injected}` : one.model_used],
    ["Took", one.duration_ms != null ? `${one.duration_ms} ms` : ""],
    ["Without", one.degraded.join(", ")],
  ];
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Effect effect={one.effect} />
        {one.overridden && <Badge variant="outline">overridden</Badge>}
      </Group>
      {one.command && <Code block>{one.command}</Code>}
      {one.paths.map((path) => (
        <Code key={path}>{path}</Code>
      ))}
      {one.outcome && <Text size="sm">{OUTCOMES[one.outcome]}</Text>}
      <Table aria-label="Rules that had something to say">
        <Table.Tbody>
          {one.rules.map((rule) => (
            <Table.Tr key={`${rule.id} ${rule.effect}`}>
              <Table.Td>
                <Effect effect={rule.effect} />
              </Table.Td>
              <Table.Td className="mono">{rule.id}</Table.Td>
            </Table.Tr>
          ))}
          {one.rules.length === 0 && (
            <Table.Tr>
              <Table.Td className="muted">No rule had anything to say.</Table.Td>
            </Table.Tr>
          )}
        </Table.Tbody>
      </Table>
      <dl style={{ display: "grid", gridTemplateColumns: "max-content 1fr", gap: "4px 16px", margin: 0 }}>
        {facts.map(([name, value]) =>
          value ? (
            <Fragment key={name}>
              <dt className="muted">{name}</dt>
              <dd style={{ margin: 0, overflowWrap: "anywhere" }}>{value}</dd>
            </Fragment>
          ) : null,
        )}
      </dl>
    </Stack>
  );
}
