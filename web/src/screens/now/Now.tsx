import { Button, Group, List, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconCircle, IconCircleCheck } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { decisionsQuery, statusQuery } from "../../api/queries";
import { DecisionRow } from "../../parts/DecisionRow";
import { Failed } from "../../parts/Failed";
import { useKeys } from "../../shell/keys";
import { DecisionDrawer } from "../decisions/DecisionDrawer";

const SHOWN = 50;

/** Home: what happens now, and what a new server still needs. */
export function Now() {
  const [paused, setPaused] = useState(false);
  const [open, setOpen] = useState<string>();
  const status = useQuery(statusQuery);
  const feed = useInfiniteQuery(decisionsQuery({}, !paused));
  const navigate = useNavigate();
  useKeys("Now", [{ press: "space", label: paused ? "Go on" : "Pause", run: () => setPaused(!paused) }]);
  const items = feed.data?.pages[0]?.items.slice(0, SHOWN) ?? [];
  const counts = status.data?.decisions ?? {};
  const disobeyed = Object.values(status.data?.disobeyed ?? {}).reduce((sum, one) => sum + one, 0);
  const figures: [string, number, Record<string, string>][] = [
    ["Allowed", (counts.abstain ?? 0) + (counts.allow ?? 0), { decision: "allow" }],
    ["Refused", counts.deny ?? 0, { effect: "deny" }],
    ["Asked", counts.ask ?? 0, { effect: "ask" }],
    ["Rewritten", counts.rewrite ?? 0, { effect: "rewrite" }],
    ["Disobeyed", disobeyed, { outcome: "ran_anyway" }],
  ];
  return (
    <Stack gap="md">
      <Title order={1}>Now</Title>
      <SimpleGrid cols={{ base: 2, sm: 5 }}>
        {figures.map(([name, number, search]) => (
          <Link key={name} to="/decisions" search={search} className="panel" style={{ textDecoration: "none", color: "inherit" }}>
            <div className="figure">{number.toLocaleString()}</div>
            <div className="muted">{name}</div>
          </Link>
        ))}
      </SimpleGrid>
      <FirstRun heard={(status.data?.clients.length ?? 0) > 0} called={items.length > 0} refused={(counts.deny ?? 0) > 0} />
      <Failed error={feed.error ?? status.error} again={() => void feed.refetch()} />
      <section className="panel" style={{ padding: 0 }} aria-label="Live feed">
        <Group justify="space-between" p="sm">
          <Text fw={600} role="status">
            {feed.error ? "Not connected" : paused ? "Paused" : "Live"}
          </Text>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => setPaused(!paused)} aria-pressed={paused}>
              {paused ? "Go on" : "Pause"}
            </Button>
            <Button size="xs" variant="default" onClick={() => void navigate({ to: "/decisions", search: {} })}>
              All decisions
            </Button>
          </Group>
        </Group>
        <ul className="rows" aria-label="The newest decisions">
          {items.map((one) => (
            <li key={one.id}>
              <DecisionRow one={one} open={setOpen} />
            </li>
          ))}
        </ul>
        {feed.isSuccess && items.length === 0 && (
          <p className="muted" style={{ padding: 16, margin: 0 }}>
            No calls yet. Run <code>baton hooks install</code> in a project, and start your agent there.
          </p>
        )}
      </section>
      <DecisionDrawer id={open} close={() => setOpen(undefined)} />
    </Stack>
  );
}

/** What a fresh server still needs; it goes away by itself. */
function FirstRun({ heard, called, refused }: { heard: boolean; called: boolean; refused: boolean }) {
  const steps: [string, boolean][] = [
    ["The server runs", true],
    ["A hook is installed (`baton hooks install`)", heard],
    ["The first call was seen", called],
    ["The first call was refused", refused],
  ];
  if (steps.every(([, done]) => done)) return null;
  return (
    <section className="panel" aria-label="First steps">
      <Title order={2} mb="xs">
        First steps
      </Title>
      <List listStyleType="none" spacing={4}>
        {steps.map(([name, done]) => (
          <List.Item
            key={name}
            icon={done ? <IconCircleCheck size={18} color="var(--allow)" aria-label="Done" /> : <IconCircle size={18} color="var(--muted)" aria-label="To do" />}
          >
            {name}
          </List.Item>
        ))}
      </List>
    </section>
  );
}
