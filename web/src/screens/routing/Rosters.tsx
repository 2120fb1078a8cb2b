import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { rostersQuery } from "./queries";

/** The rosters that prompts can be routed over. */
export function Rosters() {
  const found = useQuery(rostersQuery);
  return (
    <div className="panel" style={{ overflowX: "auto" }}>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.data && found.data.length > 0 && (
        <Table aria-label="Rosters">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Roster</Table.Th>
              <Table.Th>From</Table.Th>
              <Table.Th ta="right">Agents</Table.Th>
              <Table.Th>Description</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {found.data.map((one) => (
              <Table.Tr key={one.name}>
                <Table.Td>
                  <Link to="/rosters/$name" params={{ name: one.name }}>
                    {one.name}
                  </Link>
                </Table.Td>
                <Table.Td>{one.source}</Table.Td>
                <Table.Td ta="right">{one.agents}</Table.Td>
                <Table.Td>{one.description}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {found.isSuccess && found.data.length === 0 && (
        <Text className="muted">
          No roster. Import one: <code>baton roster import FOLDER</code>.
        </Text>
      )}
    </div>
  );
}
