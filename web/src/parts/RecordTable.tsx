import "./records.css";
import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import { Words } from "./Words";

export interface Column<T> {
  name: string;
  cell: (row: T) => ReactNode;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  id: (row: T) => string;
  /** What to do next, where there is none. */
  empty: ReactNode;
  /** Buttons of a row. */
  actions?: (row: T) => ReactNode;
}

/** A short list of records; on a phone each one is a card. */
export function RecordTable<T>({ label, columns, rows, id, empty, actions }: Props<T>) {
  if (rows.length === 0) return <p className="muted">{typeof empty === "string" ? <Words text={empty} /> : empty}</p>;
  return (
    <Table aria-label={label} className="records" highlightOnHover verticalSpacing={6}>
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ name }) => (
            <Table.Th key={name}>{name}</Table.Th>
          ))}
          {actions && (
            <Table.Th>
              <span className="hidden-label">Actions</span>
            </Table.Th>
          )}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={id(row)} data-row={id(row)}>
            {columns.map(({ name, cell }) => (
              <Table.Td key={name} data-label={name}>
                {cell(row)}
              </Table.Td>
            ))}
            {actions && <Table.Td>{actions(row)}</Table.Td>}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
