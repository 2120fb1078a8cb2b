import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/InlineInput.css";
import { Button, Checkbox, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconBan, IconHelpCircle, IconPlayerPlay } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { duration, many, usd } from "../../parts/figures";
import { type Field, FilterBar } from "../../parts/FilterBar";
import { Time } from "../../parts/Time";
import { type Session, sessionsQuery } from "./queries";
import "./sessions.css";

const route = getRouteApi("/shell/sessions");
const FIELDS: readonly Field[] = [
  { name: "q", label: "Find", placeholder: "id, user, project" },
  { name: "user", label: "User", of: "user" },
  { name: "project", label: "Project", of: "project" },
  { name: "client", label: "Client", of: "client" },
];

/** The sessions as cards, the one with the newest call first. */
export function Sessions() {
  const filters = route.useSearch();
  const navigate = useNavigate({ from: "/sessions" });
  const found = useInfiniteQuery(sessionsQuery(filters));
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.keys(filters).length > 0;
  const set = (change: object) =>
    void navigate({ search: (before) => Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, one]) => one)), replace: true });
  return (
    <Stack gap="md">
      <Title order={1}>Sessions</Title>
      <FilterBar fields={FIELDS} filters={filters} set={set} clear={() => void navigate({ search: {} })} span="7d">
        <Checkbox label="Live only" checked={filters.live ?? false} onChange={(event) => set({ live: event.currentTarget.checked })} mb={8} />
      </FilterBar>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && items.length === 0 && (
        <div className="panel muted">
          {filtered ? (
            "No session matches. Clear the filters to see all."
          ) : (
            <>
              No session in this time. Run <code>baton hooks install</code> in a project, and start your agent there.
            </>
          )}
        </div>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} component="ul" style={{ listStyle: "none", margin: 0, padding: 0 }} aria-label="Sessions, the one with the newest call first">
        {items.map((session) => (
          <li key={`${session.user} ${session.session_id}`}>
            <SessionCard session={session} />
          </li>
        ))}
      </SimpleGrid>
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  );
}

function SessionCard({ session }: { session: Session }) {
  return (
    <Link to="/sessions/$id" params={{ id: session.session_id }} search={{ user: session.user }} className="panel session-card" data-session={session.session_id}>
      <Group justify="space-between" wrap="nowrap">
        <Text fw={600} className="cut">
          {session.project || "No project"}
        </Text>
        {session.live ? (
          <span className="effect" style={{ color: "var(--allow)", minWidth: 0 }}>
            <IconPlayerPlay size={16} aria-hidden /> Live
          </span>
        ) : (
          <span className="muted">
            <Time at={session.last_at} />
          </span>
        )}
      </Group>
      <Text size="sm" c="dimmed" className="cut">
        {session.user} · {session.client || "unknown client"} · {duration(session.first_at, session.last_at)}
      </Text>
      <Text size="xs" className="mono cut" c="dimmed">
        {session.session_id}
      </Text>
      <Group gap="xs" mt="xs">
        <span>{many(session.calls, "call")}</span>
        {session.blocked > 0 && (
          <span className="effect" style={{ color: "var(--deny)", minWidth: 0 }}>
            <IconBan size={16} aria-hidden /> {session.blocked} refused
          </span>
        )}
        {session.waiting > 0 && (
          <span className="effect" style={{ color: "var(--ask)", minWidth: 0 }}>
            <IconHelpCircle size={16} aria-hidden /> {session.waiting} {session.waiting === 1 ? "waits" : "wait"} for you
          </span>
        )}
        {session.agents > 0 && <span>{many(session.agents, "agent")}</span>}
        {session.jobs > 0 && <span>{many(session.jobs, "open job")}</span>}
        {session.usd != null && <span className="muted">{usd(session.usd)}</span>}
      </Group>
    </Link>
  );
}
