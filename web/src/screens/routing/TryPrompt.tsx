import { Alert, Badge, Button, Group, NativeSelect, Paper, Stack, Table, Text, Textarea, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { Feedback } from "./Feedback";
import { type Route, rostersQuery } from "./queries";

const route = getRouteApi("/shell/routing");
const percent = (share: number) => `${Math.round(100 * share)} %`;
const TIERS: Record<Route["tier"], string> = {
  explicit: "the prompt names it",
  node: "the routing node chose it",
  scorer: "the scorer chose it",
  model: "a model chose it",
  none: "no agent is a clear match",
};

/** Route a prompt as an agent's prompt is routed, and say of the result whether it was right. */
export function TryPrompt() {
  const { roster } = route.useSearch();
  const navigate = useNavigate({ from: "/routing" });
  const [prompt, setPrompt] = useState("");
  const rosters = useQuery(rostersQuery);
  const tried = useMutation({
    mutationFn: () => body(api.POST("/route", { body: { prompt, ...(roster && { roster }) } })),
  });
  const names = (rosters.data ?? []).map(({ name, agents }) => ({ value: name, label: `${name} (${agents})` }));
  return (
    <Stack gap="md">
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault();
          tried.mutate();
        }}
      >
        <Stack gap="sm">
          <Textarea label="Prompt" autosize minRows={2} maxRows={10} value={prompt} onChange={(event) => setPrompt(event.currentTarget.value)} placeholder="The checkout tests fail since yesterday; find out why." required />
          <Group align="end">
            <NativeSelect
              label="Roster"
              data={[{ value: "", label: "Like your own prompts" }, ...names]}
              value={roster ?? ""}
              onChange={(event) => void navigate({ search: (before) => ({ ...before, roster: event.currentTarget.value || undefined }) })}
            />
            <Button type="submit" loading={tried.isPending} disabled={!prompt.trim()}>
              Try it
            </Button>
          </Group>
          <Text size="sm" className="muted">
            It is recorded and counted like any prompt. You can then judge the route.
          </Text>
        </Stack>
      </form>
      <Failed error={tried.error ?? rosters.error} again={() => (tried.error ? tried.mutate() : void rosters.refetch())} />
      {rosters.isSuccess && names.length === 0 && (
        <Alert variant="outline">
          No roster. Push one: <code>baton roster push FOLDER</code>.
        </Alert>
      )}
      {tried.data && <Result key={tried.data.id} found={tried.data} roster={roster} />}
    </Stack>
  );
}

function Result({ found, roster }: { found: Route; roster: string | undefined }) {
  const linked = (name: string) =>
    roster ? (
      <Link to="/rosters/$name" params={{ name: roster }} search={{ agent: name }}>
        {name}
      </Link>
    ) : (
      name
    );
  return (
    <Stack gap="md" role="region" aria-label="Chosen route">
      <Paper className="panel">
        <Group gap="sm">
          <Title order={2}>{found.selected_agent ? <>→ {linked(found.selected_agent)}</> : "No agent"}</Title>
          {found.selected_agent && <Badge variant="default">{percent(found.confidence)}</Badge>}
        </Group>
        <Text size="sm">{found.reason || TIERS[found.tier]}</Text>
        {found.degraded.length > 0 && <Text size="sm" c="var(--ask)">Without: {found.degraded.join(", ")}</Text>}
        {found.intents.length > 0 && (
          <ul>
            {found.intents.map((one) => (
              <li key={one.agent}>
                {linked(one.agent)}, {percent(one.confidence)}: {one.text}
              </li>
            ))}
          </ul>
        )}
      </Paper>
      {found.candidates.length > 0 && (
        <div className="panel" style={{ overflowX: "auto" }}>
          <Table aria-label="Candidates">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Agent</Table.Th>
                <Table.Th ta="right">Probability</Table.Th>
                <Table.Th>Why</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.candidates.map((one) => (
                <Table.Tr key={one.name}>
                  <Table.Td className="mono">{linked(one.name)}</Table.Td>
                  <Table.Td ta="right">{percent(one.score)}</Table.Td>
                  <Table.Td>{one.why}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          <Feedback id={found.id} selected={found.selected_agent} names={found.candidates.map(({ name }) => name)} />
        </div>
      )}
      <div className="panel">
        <Title order={3} mb="xs">
          Context for the agent
        </Title>
        {found.additional_context ? <pre className="agent-text" tabIndex={0}>{found.additional_context}</pre> : <Text className="muted">Nothing.</Text>}
      </div>
    </Stack>
  );
}
