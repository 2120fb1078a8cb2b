import "@mantine/core/styles/Table.css";
import { Group, Table, Title } from "@mantine/core";
import {
  createSortedRowModel,
  FlexRender,
  rowSortingFeature,
  sortFns,
  tableFeatures,
  useTable,
  type ColumnDef,
} from "@tanstack/react-table";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Schemas } from "../../api/client";
import { Effect } from "../../parts/Effect";
import { TextFilter, TimeRange } from "../../parts/FilterBar";
import { Time } from "../../parts/Time";
import type { Range } from "../../parts/time";
import { Views } from "../../parts/Views";
import { Words } from "../../parts/Words";
import type { RuleCount } from "./queries";

interface Row {
  id: string;
  description: string;
  decision: string;
  state: "on" | "off" | "shadow" | "elsewhere";
  locked: boolean;
  hits: number;
  would: number;
  reports: number;
  last: string;
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns });
const WIDE = new Set(["last", "decision", "state"]);
const SOFT = new Set(["shadow", "lifted"]);

/** Rules with what became of them in the last week; a number opens the decisions behind it. */
export function RuleTable({
  rules,
  counts,
  query,
  range,
  set,
}: {
  rules: Schemas["RuleModel"][];
  counts: RuleCount[];
  query: string;
  range: Range;
  set: (change: Range & { q?: string | undefined }) => void;
}) {
  const rows = useMemo(() => joined(rules, counts), [rules, counts]);
  const shown = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((row) => words.every((word) => `${row.id} ${row.description} ${row.state}`.toLowerCase().includes(word)));
  }, [rows, query]);
  const columns = useMemo<ColumnDef<typeof features, Row>[]>(
    () => [
      {
        accessorKey: "id",
        header: "Rule",
        cell: ({ row: { original: one } }) => (
          <span>
            <span className="mono">{one.id}</span> {one.locked && <span className="muted">· locked</span>}
            <br />
            <span className="muted"><Words text={one.description} /></span>
          </span>
        ),
      },
      { accessorKey: "decision", header: "Decides", cell: ({ row: { original: one } }) => one.decision && <Effect effect={one.decision} /> },
      { accessorKey: "state", header: "State", cell: ({ row: { original: one } }) => one.state },
      { accessorKey: "hits", header: "Hits", cell: ({ row: { original: one } }) => <Count rule={one.id} count={one.hits} never={one.state === "on"} /> },
      { accessorKey: "would", header: "Would hit", cell: ({ row: { original: one } }) => <Count rule={one.id} count={one.would} effect="shadow" /> },
      { accessorKey: "reports", header: "Wrong blocks", cell: ({ row: { original: one } }) => one.reports || "" },
      { accessorKey: "last", header: "Last", cell: ({ row: { original: one } }) => one.last && <Time at={one.last} /> },
    ],
    [],
  );
  const table = useTable({ features, columns, data: shown, getRowId: (row) => row.id });
  return (
    <section aria-label="Rules">
      <Group gap="sm" align="end" mb="xs" role="search">
        <Title order={2} flex={1}>
          Rules
        </Title>
        <TextFilter label="Find a rule" value={query} set={(q) => set({ q: q || undefined })} w={220} />
        <TimeRange range={range} set={set} span="7d" />
        <Views />
      </Group>
      <div className="panel" style={{ padding: 0, overflowX: "auto" }} tabIndex={0}>
        <Table className="rules" aria-label="Rules">
          <Table.Thead>
            {table.getHeaderGroups().map((group) => (
              <Table.Tr key={group.id}>
                {group.headers.map((header) => {
                  const sorted = header.column.getIsSorted();
                  return (
                    <Table.Th
                      key={header.id}
                      className={WIDE.has(header.id) ? "wide" : ""}
                      aria-sort={sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : "none"}
                    >
                      <button type="button" className="plain" onClick={header.column.getToggleSortingHandler()}>
                        <FlexRender header={header} /> {sorted === "asc" ? "↑" : sorted === "desc" ? "↓" : ""}
                      </button>
                    </Table.Th>
                  );
                })}
              </Table.Tr>
            ))}
          </Table.Thead>
          <Table.Tbody>
            {table.getRowModel().rows.map((row) => (
              <Table.Tr key={row.id} data-row data-rule={row.id}>
                {row.getAllCells().map((cell) => (
                  <Table.Td key={cell.id} className={WIDE.has(cell.column.id) ? "wide" : ""}>
                    <FlexRender cell={cell} />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {shown.length === 0 && <p className="muted" style={{ padding: 16, margin: 0 }}>No rule matches.</p>}
      </div>
    </section>
  );
}

function Count({ rule, count, effect, never }: { rule: string; count: number; effect?: string; never?: boolean }) {
  if (!count) return never ? <span className="muted" style={{ whiteSpace: "nowrap" }}>never</span> : null;
  return (
    <Link to="/decisions" search={{ rule, ...(effect ? { effect } : {}) }}>
      {count}
    </Link>
  );
}

/** What is known of a rule that decided for others and does not hold for oneself. */
const ELSEWHERE = { elsewhere: true, description: "From a layer not applied to you, such as another team's.", decision: "", enabled: true, shadow: false, locked: false };

function joined(rules: Schemas["RuleModel"][], counts: RuleCount[]): Row[] {
  const byId = new Map(counts.map((count) => [count.rule, count]));
  const own = new Set(rules.map(({ id }) => id));
  const elsewhere = counts.filter(({ rule }) => !own.has(rule)).map(({ rule }) => ({ id: rule, ...ELSEWHERE }));
  return [...rules, ...elsewhere]
    .map((rule): Row => {
      const count = byId.get(rule.id);
      const hits = Object.entries(count?.hits ?? {});
      const sum = (soft: boolean) => hits.reduce((total, [effect, number]) => (SOFT.has(effect) === soft ? total + number : total), 0);
      return {
        id: rule.id,
        description: rule.description,
        decision: rule.decision,
        state: "elsewhere" in rule ? "elsewhere" : !rule.enabled ? "off" : rule.shadow ? "shadow" : "on",
        locked: rule.locked,
        hits: sum(false),
        would: sum(true),
        reports: count?.reports ?? 0,
        last: count?.last_hit ?? "",
      };
    })
    .sort((one, other) => other.reports - one.reports || other.hits - one.hits || other.would - one.would || one.id.localeCompare(other.id));
}
