import "@mantine/core/styles/Tabs.css";
import { Button, Group, Stack, Tabs, Text, Title } from "@mantine/core";
import { IconArrowLeft, IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { ApiError } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { duration, usd } from "../../parts/figures";
import { AgentTree } from "./AgentTree";
import { sessionQuery } from "./queries";
import { Timeline } from "./Timeline";
import "./sessions.css";

const route = getRouteApi("/shell/sessions/$id");

/** One session: what it is, its time line, its agents and jobs, and both as a file. */
export function Session() {
  const { id } = route.useParams();
  const { tab, user = "", kind = "" } = route.useSearch();
  const navigate = useNavigate({ from: "/sessions/$id" });
  const found = useQuery(sessionQuery(id, user));
  const session = found.data;
  // A session that only delegated has no call of its own, but it has a time line.
  const onlyJobs = found.error instanceof ApiError && found.error.status === 404;
  const file = (format: string) => `/sessions/${encodeURIComponent(id)}/timeline/export?${new URLSearchParams({ format, user }).toString()}`;
  return (
    <Stack gap="md">
      <Group gap="sm" wrap="nowrap">
        <Button component={Link} to="/sessions" variant="default" size="xs" aria-label="All sessions">
          <IconArrowLeft size={16} aria-hidden />
        </Button>
        <Title order={1} className="cut">
          {session?.project || "Session"}
        </Title>
      </Group>
      <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        <span className="mono">{id}</span>
        {session && ` · ${session.user} · ${session.client} · ${duration(session.first_at, session.last_at)} · ${session.calls} calls, ${session.blocked} refused`}
        {session?.usd != null && ` · ${usd(session.usd)}`}
        {session && ` · mode ${session.mode.enabled ? session.mode.level : "off"}`}
      </Text>
      {!onlyJobs && <Failed error={found.error} again={() => void found.refetch()} />}
      <Group gap="sm">
        {(["html", "ndjson"] as const).map((format) => (
          <Button key={format} component="a" href={file(format)} download variant="default" size="xs" leftSection={<IconDownload size={14} aria-hidden />}>
            {format === "html" ? "HTML page" : "NDJSON"}
          </Button>
        ))}
      </Group>
      <Tabs value={tab ?? "timeline"} onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next === "agents" ? "agents" : undefined }) as typeof before, replace: true })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="timeline">Time line</Tabs.Tab>
          <Tabs.Tab value="agents">Agents and jobs</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="timeline" pt="sm">
          <Timeline id={id} user={user} kind={kind} choose={(next) => void navigate({ search: (before) => ({ ...before, kind: next || undefined }) as typeof before, replace: true })} />
        </Tabs.Panel>
        <Tabs.Panel value="agents" pt="sm">
          <AgentTree id={id} user={session?.user ?? user} agents={session?.tree ?? []} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
