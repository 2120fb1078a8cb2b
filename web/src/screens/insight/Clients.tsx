import { Badge, Table, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { statusQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { moment, relative } from "../../parts/time";

function Trouble({ children }: { children: string }) {
  return (
    <Badge variant="default" styles={{ root: { textTransform: "none", color: "var(--deny)" } }}>
      {children}
    </Badge>
  );
}

/** When each person's clients last sent something; one that fell silent may have lost its hook. */
export function Clients() {
  const found = useQuery(statusQuery);
  const clients = [...(found.data?.clients ?? [])].sort((one, other) => (other.last_seen ?? "").localeCompare(one.last_seen ?? ""));
  return (
    <section className="panel" aria-label="Last call by client" style={{ minWidth: 0, overflowX: "auto" }}>
      <Title order={2} mb="xs">
        Last call by client
      </Title>
      <Failed error={found.error} again={() => void found.refetch()} />
      {clients.length > 0 && (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Person</Table.Th>
              <Table.Th>Client</Table.Th>
              <Table.Th ta="right">Last heard</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {clients.map((one) => (
              <Table.Tr key={`${one.user} ${one.client}`}>
                <Table.Td>{one.user}</Table.Td>
                <Table.Td>
                  {one.client} {one.silent && <Trouble>silent: check its hook</Trouble>}
                  {!one.last_seen && <Trouble>installed, no call yet</Trouble>}
                </Table.Td>
                <Table.Td ta="right" title={one.last_seen ? moment(one.last_seen) : undefined}>
                  {one.last_seen ? relative(one.last_seen) : "never"}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {found.isSuccess && clients.length === 0 && <p className="muted" style={{ margin: 0 }}>No client has sent anything. Run <code>baton hooks install</code> in a project.</p>}
    </section>
  );
}
