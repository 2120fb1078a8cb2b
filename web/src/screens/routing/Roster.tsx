import { Code, Drawer, Group, Loader, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { Markdown } from "../../parts/Markdown";
import { ModelTier } from "./ModelTier";
import { agentQuery, rosterQuery, tableQuery } from "./queries";

const route = getRouteApi("/shell/rosters/$name");
const SHORT = 160;

/** The agents of a roster; one of them opens with its definition. */
export function Roster() {
  const { name } = route.useParams();
  const { agent } = route.useSearch();
  const navigate = useNavigate();
  const found = useQuery(rosterQuery(name));
  const table = useQuery({ ...tableQuery(name), enabled: found.data?.source === "policies" });
  const models = Object.fromEntries((table.data?.rows ?? []).map((row) => [row.agent, row.model]));
  const open = (one: string | undefined) => void navigate({ to: "/rosters/$name", params: { name }, search: { agent: one } });
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>{name}</Title>
        <Link to="/routing" search={{ roster: name }}>
          Try a prompt against it
        </Link>
      </Group>
      {found.data?.description && <Text>{found.data.description}</Text>}
      <Failed error={found.error ?? table.error} again={() => void found.refetch()} />
      {found.isLoading && <Loader aria-label="Loading" />}
      {found.data && (
        <div className="panel" style={{ overflowX: "auto" }}>
          <Table aria-label="Agents">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Agent</Table.Th>
                {table.data && <Table.Th>Model</Table.Th>}
                <Table.Th>For</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.data.rows.map((one) => (
                <Table.Tr key={one.name} data-row>
                  <Table.Td className="mono">
                    <Link to="/rosters/$name" params={{ name }} search={{ agent: one.name }}>
                      {one.name}
                    </Link>
                  </Table.Td>
                  {table.data && <Table.Td>{models[one.name] && <ModelTier model={models[one.name] ?? ""} />}</Table.Td>}
                  <Table.Td style={{ overflowWrap: "anywhere" }}>{one.description.length > SHORT ? `${one.description.slice(0, SHORT)}…` : one.description}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
      <Drawer opened={agent !== undefined} onClose={() => open(undefined)} position="right" size="lg" title={agent ?? ""} closeButtonProps={{ "aria-label": "Close" }}>
        {agent && <Definition roster={name} agent={agent} model={models[agent]} />}
      </Drawer>
    </Stack>
  );
}

function Definition({ roster, agent, model }: { roster: string; agent: string; model: string | undefined }) {
  const { data: found, error, refetch } = useQuery(agentQuery(roster, agent));
  if (!found) return error ? <Failed error={error} again={() => void refetch()} /> : <Loader aria-label="Loading" />;
  return (
    <Stack gap="md">
      {model && <ModelTier model={model} />}
      <Text>{found.description}</Text>
      {found.triggers.length > 0 && (
        <Group gap={6} aria-label="Triggers">
          {found.triggers.map((one) => (
            <Code key={one}>{one}</Code>
          ))}
        </Group>
      )}
      {found.body ? <Markdown text={found.body} /> : <Text className="muted">It has no further definition.</Text>}
    </Stack>
  );
}
