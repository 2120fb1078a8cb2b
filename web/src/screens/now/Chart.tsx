import { Button, Group, Table, Title, useComputedColorScheme } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { Failed } from "../../parts/Failed";
import { clock } from "../../parts/time";
import { useMinutes } from "./queries";
import { BANDS } from "./tally";

const MinuteChart = lazy(() => import("./MinuteChart").then(({ MinuteChart: default_ }) => ({ default: default_ })));
export const WORDS = { allowed: "Allowed", rewritten: "Rewritten", asked: "Asked", refused: "Refused" };

/** The calls of the last hour by minute, as a chart or as a table. */
export function Chart({ tick }: { tick: number }) {
  const [asTable, setAsTable] = useState(false);
  const colorScheme = useComputedColorScheme("light");
  const { minutes, error } = useMinutes(tick);
  const some = minutes.filter((minute) => BANDS.some((band) => minute[band] > 0));
  return (
    <section className="panel" aria-label="Calls by minute">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Calls by minute</Title>
        <Button size="xs" variant="default" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Chart" : "Table"}
        </Button>
      </Group>
      <Failed error={error} again={() => undefined} />
      {asTable ? (
        <div style={{ maxHeight: 220, overflow: "auto" }} tabIndex={0} role="region" aria-label="Calls by minute, as a table">
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Minute</Table.Th>
                {BANDS.map((band) => (
                  <Table.Th key={band}>{WORDS[band]}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {some.reverse().map((minute) => (
                <Table.Tr key={minute.at}>
                  <Table.Td className="mono">{clock(new Date(minute.at).toISOString()).slice(0, 5)}</Table.Td>
                  {BANDS.map((band) => (
                    <Table.Td key={band}>{minute[band].toLocaleString()}</Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {some.length === 0 && <p className="muted">No call in the last hour.</p>}
        </div>
      ) : (
        <Suspense fallback={<div style={{ height: 160 }} />}>
          <MinuteChart key={colorScheme} minutes={minutes} />
        </Suspense>
      )}
    </section>
  );
}
