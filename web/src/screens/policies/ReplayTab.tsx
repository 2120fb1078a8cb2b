import "@mantine/core/styles/Progress.css";
import { Alert, Button, Group, NativeSelect, Progress, Stack, Table, Text } from "@mantine/core";
import { IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { moment, when } from "../../parts/time";
import { replay, type Line } from "./replay";

const DAY_MS = 86_400_000;
const PERIODS = [
  { value: "1", label: "The last day" },
  { value: "7", label: "The last week" },
  { value: "30", label: "The last month" },
];

interface State {
  running: boolean;
  progress?: Schemas["Progress"];
  calls: Schemas["ChangedCall"][];
  summary?: Schemas["Summary"];
  failure?: string;
}

/** Replays stored calls over a draft or a pack: how far it is, and which calls would be decided otherwise. */
export function ReplayTab({ asked, what, done }: { asked: Partial<Schemas["ReplayBody"]>; what: string; done?: (summary: Schemas["Summary"]) => void }) {
  const [days, setDays] = useState("7");
  const [state, setState] = useState<State>({ running: false, calls: [] });
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(), []);

  async function start() {
    const mine = new AbortController();
    abort.current = mine;
    setState({ running: true, calls: [] });
    const since = new Date(Date.now() - Number(days) * DAY_MS).toISOString();
    try {
      await replay({ ...asked, since, limit: 100_000 } as Schemas["ReplayBody"], mine.signal, (line) => {
        if (line.summary) done?.(line.summary);
        setState((before) => with_(before, line));
      });
      setState((before) => ({ ...before, running: false }));
    } catch (error) {
      const failure = mine.signal.aborted ? "Cancelled after a part of the calls. Nothing was changed." : (error as Error).message;
      setState((before) => ({ ...before, running: false, failure }));
    }
  }

  const { progress, summary } = state;
  const percent = progress?.total ? (100 * progress.read) / progress.total : summary ? 100 : 0;
  return (
    <Stack gap="md">
      <p className="muted" style={{ margin: 0 }}>
        Decides stored calls again with the {what} active. Nothing is changed. The result lists the calls with another decision.
      </p>
      <Group gap="sm" align="end">
        <NativeSelect label="Calls of" data={PERIODS} value={days} onChange={(event) => setDays(event.currentTarget.value)} />
        {state.running ? (
          <Button variant="default" leftSection={<IconPlayerStop size={16} aria-hidden />} onClick={() => abort.current?.abort()}>
            Cancel
          </Button>
        ) : (
          <Button leftSection={<IconPlayerPlay size={16} aria-hidden />} onClick={() => void start()}>
            Replay the {what}
          </Button>
        )}
      </Group>
      {state.failure && (
        <Alert color="red" variant="outline" role="alert">
          {state.failure}
        </Alert>
      )}
      {(state.running || progress) && <Progress value={percent} aria-label="Progress of the replay" />}
      {progress && (
        <Text role="status">
          {progress.read} of {progress.total} calls, {progress.changed} would be decided otherwise
          {summary?.truncated ? "; there are more" : ""}
        </Text>
      )}
      {summary && progress?.total === 0 && <p className="muted">No call is stored for this period. Let your agents work, then replay.</p>}
      {summary && summary.changed === 0 && summary.read > 0 && <p className="muted">Every decision would stay the same.</p>}
      {Object.entries(summary?.not_replayed ?? {}).map(([why, count]) => (
        <p key={why} className="note muted">
          {count} could not be replayed: {why}
        </p>
      ))}
      {state.calls.length > 0 && <Changed calls={state.calls} />}
    </Stack>
  );
}

function Changed({ calls }: { calls: Schemas["ChangedCall"][] }) {
  return (
    <div className="panel" style={{ padding: 0 }}>
      <Table aria-label="Calls with another decision">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Call</Table.Th>
            <Table.Th>User</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {calls.map((one) => (
            <Table.Tr key={one.decision_id} data-row>
              <Table.Td style={{ whiteSpace: "nowrap" }}>
                <time title={moment(one.at)}>{when(one.at)}</time>
              </Table.Td>
              <Table.Td className="cut" style={{ maxWidth: 380 }}>
                <Link to="/decisions" search={{ id: one.decision_id }} className="mono">
                  {one.call || one.tool}
                </Link>
              </Table.Td>
              <Table.Td>{one.user}</Table.Td>
              <Table.Td>{one.before}</Table.Td>
              <Table.Td>{one.after}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function with_(before: State, line: Line): State {
  if (line.problem) return { ...before, failure: line.problem.detail };
  return {
    ...before,
    ...(line.progress ? { progress: line.progress } : {}),
    ...(line.calls ? { calls: [...before.calls, ...line.calls] } : {}),
    ...(line.summary ? { summary: line.summary } : {}),
  };
}
