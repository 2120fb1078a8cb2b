import { Button, NativeSelect, Stack, Text } from "@mantine/core";
import {
  IconArrowGuide,
  IconBulb,
  IconMessage,
  IconPlayerPlay,
  IconPoint,
  IconQuestionMark,
  IconRobot,
  IconRoute,
  IconSwitchHorizontal,
} from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Effect } from "../../parts/Effect";
import { Failed } from "../../parts/Failed";
import { usd } from "../../parts/figures";
import { JobState } from "../../parts/JobState";
import { clock, moment } from "../../parts/time";
import { type TimelineItem, timelineQuery } from "./queries";

const KINDS: Record<TimelineItem["kind"], { word: string; Icon: typeof IconPoint }> = {
  session: { word: "Session", Icon: IconPlayerPlay },
  prompt: { word: "Prompt", Icon: IconMessage },
  route: { word: "Route", Icon: IconRoute },
  advisory: { word: "Advisory", Icon: IconBulb },
  decision: { word: "Call", Icon: IconPoint },
  spawn: { word: "Agent", Icon: IconRobot },
  job: { word: "Job", Icon: IconArrowGuide },
  question: { word: "Question", Icon: IconQuestionMark },
  mode: { word: "Mode", Icon: IconSwitchHorizontal },
};
const CHOICES = [{ value: "", label: "Everything" }, ...Object.entries(KINDS).map(([value, { word }]) => ({ value, label: `${word}s` }))];

/** What happened in a session, in one order, oldest first. */
export function Timeline({ id, user, kind, choose }: { id: string; user: string; kind: string; choose: (kind: string) => void }) {
  const found = useInfiniteQuery(timelineQuery(id, user, kind in KINDS ? kind : ""));
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Stack gap="sm">
      <NativeSelect label="Show" data={CHOICES} value={kind} onChange={(event) => choose(event.currentTarget.value)} w={180} />
      <Failed error={found.error} again={() => void found.refetch()} />
      <ol className="timeline panel" aria-label="Time line, oldest first">
        {items.map((item, place) => (
          <Entry key={`${item.at} ${place}`} item={item} />
        ))}
        {found.isSuccess && items.length === 0 && <li className="muted">Nothing of this kind happened.</li>}
      </ol>
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  );
}

function Entry({ item }: { item: TimelineItem }) {
  const { word, Icon } = KINDS[item.kind];
  return (
    <li className="timeline-item" data-kind={item.kind}>
      <time dateTime={item.at} title={moment(item.at)} className="muted">
        {clock(item.at)}
      </time>
      <span className="timeline-kind">
        <Icon size={16} aria-hidden /> {word}
      </span>
      <span className="timeline-what">{what(item)}</span>
      <span className="muted timeline-usd">{item.usd == null ? "" : usd(item.usd)}</span>
    </li>
  );
}

function what(item: TimelineItem): ReactNode {
  const { decision, job, mode } = item;
  if (job)
    return (
      <>
        {item.kind === "job" ? <JobState state={job.state} /> : <span>{asks(job)} </span>}{" "}
        <Link to="/delegations/$job" params={{ job: job.job }}>
          {job.description || job.job.slice(0, 12)}
        </Link>{" "}
        <span className="muted">→ {job.agent_type || job.provider}</span> {job.error && <span style={{ color: "var(--deny)" }}>{job.error}</span>}
      </>
    );
  if (mode) return `${mode.action} by ${mode.actor}: ${mode.scope} ${mode.enabled ? mode.level || "on" : "off"}${mode.reason ? `, ${mode.reason}` : ""}`;
  if (item.advisories) return <pre className="agent-text">{item.advisories.join("\n")}</pre>;
  if (!decision) return null;
  switch (item.kind) {
    case "prompt":
      return decision.prompt ? <Text size="sm" style={{ whiteSpace: "pre-wrap" }}>{decision.prompt}</Text> : <span className="muted">(prompts are not kept)</span>;
    case "route":
      return `to ${decision.routed_to || "no agent"} by ${decision.routed_by}, ${Math.round((decision.confidence ?? 0) * 100)} %`;
    case "spawn":
      return `${item.parent === "main" ? "The main thread" : item.parent} starts ${decision.started_agent || decision.agent_type || "an agent"}${decision.model_used ? ` on ${decision.model_used}` : ""}`;
    case "session":
      return decision.event;
    default:
      return (
        <Link to="/decisions" search={{ id: decision.id }} className="timeline-call">
          <Effect effect={decision.effect} />
          <span className="mono">{[decision.tool, decision.command || decision.paths.join(" ")].filter(Boolean).join(" ")}</span>
        </Link>
      );
  }
}

function asks(job: NonNullable<TimelineItem["job"]>): string {
  const request = job.detail.request as { title?: string; tool_name?: string } | undefined;
  return request ? `asks for ${request.title || request.tool_name || "permission"}` : `gets the answer ${String(job.detail.answer ?? "")}`;
}
