import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/InlineInput.css";
import { Button, Checkbox, Group, SimpleGrid, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconBan, IconHelpCircle, IconPlayerPlay } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { duration, many, usd } from "../../parts/figures";
import { moment, relative } from "../../parts/time";
import { type Session, sessionsQuery } from "./queries";
import "./sessions.css";

const route = getRouteApi("/shell/sessions");
const TEXTS = { q: "Find", user: "User", project: "Project", client: "Client" } as const;

/** The sessions of the last seven days as cards, the one with the newest call first. */
export function Sessions() {
  const filters = route.useSearch();
  const navigate = useNavigate({ from: "/sessions" });
  const found = useInfiniteQuery(sessionsQuery(filters));
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.keys(filters).length > 0;
  const filter = (name: string, value: string | boolean) =>
    void navigate({
      search: (before) => Object.fromEntries(Object.entries({ ...before, [name]: value }).filter(([, one]) => one)),
      replace: true,
    });
  return (
    <Stack gap="md">
      <Title order={1}>Sessions</Title>
      <Group gap="sm" role="search" align="end">
        {(Object.keys(TEXTS) as (keyof typeof TEXTS)[]).map((name) => (
          <TextInput
            key={`${name} ${filters[name] ?? ""}`}
            label={TEXTS[name]}
            placeholder={name === "q" ? "id, user, project" : ""}
            defaultValue={filters[name] ?? ""}
            onKeyDown={(event) => event.key === "Enter" && filter(name, event.currentTarget.value.trim())}
            onBlur={(event) => event.currentTarget.value.trim() !== (filters[name] ?? "") && filter(name, event.currentTarget.value.trim())}
            w={150}
          />
        ))}
        <Checkbox label="Live only" checked={filters.live ?? false} onChange={(event) => filter("live", event.currentTarget.checked)} mb={8} />
        {filtered && (
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            Clear filters
          </Button>
        )}
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && items.length === 0 && (
        <div className="panel muted">
          {filtered ? (
            "No session matches. Clear the filters to see all."
          ) : (
            <>
              No session in the last seven days. Run <code>baton hooks install</code> in a project, and start your agent there.
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
          <time className="muted" dateTime={session.last_at} title={moment(session.last_at)}>
            {relative(session.last_at)}
          </time>
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
