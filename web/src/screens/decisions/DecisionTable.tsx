import "@mantine/core/styles/Table.css";
import { Table } from "@mantine/core";
import { FlexRender, tableFeatures, useTable, type ColumnDef } from "@tanstack/react-table";
import { useMemo } from "react";
import type { Decision } from "../../api/client";
import { deciding, effectOf, subject } from "../../parts/DecisionRow";
import { Effect } from "../../parts/Effect";
import { Time } from "../../parts/Time";

const features = tableFeatures({});
/** Columns that a phone has no room for; the drawer shows them. */
const WIDE = new Set(["user", "rule", "client", "project", "ms"]);

/** Decisions as a table, the newest first; a row opens by a click, or by Enter where j and k have led. */
export function DecisionTable({ items, open }: { items: Decision[]; open: (id: string) => void }) {
  const columns = useMemo<ColumnDef<typeof features, Decision>[]>(
    () => [
      { id: "at", header: "Time", cell: ({ row: { original: one } }) => <Time at={one.at} /> },
      { id: "effect", header: "Effect", cell: ({ row: { original: one } }) => <Effect effect={effectOf(one)} /> },
      {
        id: "call",
        header: "Call",
        cell: ({ row: { original: one } }) => (
          <button type="button" className="plain mono cut" data-decision={one.id} onClick={() => open(one.id)}>
            <span className="muted">{one.tool ?? one.event}</span> {subject(one)}
          </button>
        ),
      },
      { id: "rule", header: "Rule", cell: ({ row: { original: one } }) => deciding(one) },
      { id: "user", header: "User", cell: ({ row: { original: one } }) => one.user },
      { id: "client", header: "Client", cell: ({ row: { original: one } }) => one.client },
      { id: "project", header: "Project", cell: ({ row: { original: one } }) => <span title={one.project ?? ""}>{one.project}</span> },
      { id: "ms", header: "ms", cell: ({ row: { original: one } }) => one.elapsed_ms.toFixed(1) },
    ],
    [open],
  );
  const table = useTable({ features, columns, data: items, getRowId: (one) => one.id });
  return (
    <Table className="decisions" highlightOnHover aria-label="Decisions, the newest first">
      <Table.Thead>
        {table.getHeaderGroups().map((group) => (
          <Table.Tr key={group.id}>
            {group.headers.map((header) => (
              <Table.Th key={header.id} className={WIDE.has(header.id) ? "wide" : ""} data-column={header.id}>
                <FlexRender header={header} />
              </Table.Th>
            ))}
          </Table.Tr>
        ))}
      </Table.Thead>
      <Table.Tbody>
        {table.getRowModel().rows.map((row) => (
          <Table.Tr key={row.id} data-row onClick={() => open(row.id)}>
            {row.getAllCells().map((cell) => (
              <Table.Td key={cell.id} className={WIDE.has(cell.column.id) ? "wide cut" : "cut"} data-column={cell.column.id}>
                <FlexRender cell={cell} />
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
