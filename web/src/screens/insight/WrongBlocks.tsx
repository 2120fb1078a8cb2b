import { Table, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { rulesQuery } from "./queries";
import type { InsightSearch } from "./search";

/** Rules that people reported for blocking what should have run. */
export function WrongBlocks({ period }: { period: NonNullable<InsightSearch["since"]> }) {
  const found = useQuery(rulesQuery(period));
  const reported = (found.data ?? []).filter(({ reports }) => reports > 0).sort((one, other) => other.reports - one.reports);
  const hits = (counts: Record<string, number>) => (counts.deny ?? 0) + (counts.ask ?? 0);
  return (
    <section className="panel" aria-label="Wrong blocks" style={{ minWidth: 0, overflowX: "auto" }}>
      <Title order={2} mb="xs">
        Wrong blocks
      </Title>
      <Failed error={found.error} again={() => void found.refetch()} />
      {reported.length > 0 && (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Rule</Table.Th>
              <Table.Th ta="right">Reported</Table.Th>
              <Table.Th ta="right">Refused or asked</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {reported.map((one) => (
              <Table.Tr key={one.rule}>
                <Table.Td className="mono">
                  <Link to="/decisions" search={{ rule: one.rule }}>
                    {one.rule}
                  </Link>
                </Table.Td>
                <Table.Td ta="right">{one.reports}</Table.Td>
                <Table.Td ta="right">{hits(one.hits)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {found.isSuccess && reported.length === 0 && <p className="muted" style={{ margin: 0 }}>Nobody reported a wrong block in this period.</p>}
    </section>
  );
}
