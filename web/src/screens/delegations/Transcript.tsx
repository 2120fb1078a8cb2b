import { Code, Text } from "@mantine/core";
import { IconArrowRight, IconCheck, IconLoader, IconX } from "@tabler/icons-react";
import { memo } from "react";
import { agentName } from "../../parts/agents";
import { Markdown } from "../../parts/Markdown";
import { clock } from "../../parts/time";
import { Question } from "./Question";
import type { Block, Item, ToolCall } from "./transcript";

/** A job's transcript: the orchestrator's words as plain bubbles, the delegated agent's in a card of its own. */
export function Transcript({ items, active }: { items: Item[]; active: boolean }) {
  return (
    <div className="transcript" role="log" aria-label="Transcript" aria-busy={active}>
      {items.map((item) => (
        <Entry key={item.no} item={item} />
      ))}
    </div>
  );
}

const Entry = memo(function Entry({ item }: { item: Item }) {
  switch (item.kind) {
    case "bubble":
      return (
        <div className="bubble" data-source="orchestrator">
          <pre className="agent-text">{item.text}</pre>
        </div>
      );
    case "delegation":
      return (
        <div className="delegation">
          <Tool call={item.call} />
        </div>
      );
    case "card":
      return (
        <article className="agent-card" data-source="agent" aria-label={agentName(item.provider)}>
          <header>
            <IconArrowRight size={16} aria-hidden style={{ verticalAlign: "text-bottom" }} /> {agentName(item.provider)}
            {item.attempt > 1 && <span className="muted"> · attempt {item.attempt}</span>}
          </header>
          {item.blocks.map((block, place) => (
            // Blocks are only ever added or changed where they are.
            <Part key={place} block={block} />
          ))}
        </article>
      );
    case "question":
      return <Question question={item.question} />;
    case "note":
      return (
        <div className="note" data-tone={item.tone}>
          <time dateTime={item.at}>{clock(item.at)}</time> {item.text}
        </div>
      );
  }
});

const Part = memo(function Part({ block }: { block: Block }) {
  switch (block.kind) {
    case "text":
      return (
        <>
          <Markdown text={block.text} />
          {block.cut > 0 && (
            <Text size="sm" c="dimmed">
              … and {block.cut.toLocaleString()} more characters, which the page leaves out.
            </Text>
          )}
        </>
      );
    case "thought":
      return (
        <details>
          <summary className="muted">Thoughts</summary>
          <Markdown text={block.text} />
        </details>
      );
    case "plan":
      return (
        <ul aria-label="Plan">
          {block.entries.map((entry, place) => (
            <li key={place} className={entry.status === "completed" ? "muted" : ""}>
              {entry.content} {entry.status === "in_progress" && <strong>(now)</strong>}
              {entry.status === "completed" && "✓"}
            </li>
          ))}
        </ul>
      );
    case "tools":
      return block.calls.length === 1 && block.calls[0] ? (
        <Tool call={block.calls[0]} />
      ) : (
        <details>
          <summary>
            {block.calls.length} tool calls · {block.calls.at(-1)?.title}
          </summary>
          {block.calls.map((call, place) => (
            <Tool key={`${call.id} ${place}`} call={call} />
          ))}
        </details>
      );
  }
});

function Tool({ call }: { call: ToolCall }) {
  const title = (
    <>
      <Status status={call.status} /> <span className="mono">{call.title}</span>
    </>
  );
  if (!call.details) return <div>{title}</div>;
  return (
    <details>
      <summary>{title}</summary>
      <Code block>{call.details}</Code>
    </details>
  );
}

function Status({ status }: { status: string }) {
  const style = { verticalAlign: "text-bottom" } as const;
  if (status === "failed") return <IconX size={16} color="var(--deny)" aria-label="failed" style={style} />;
  if (status === "completed") return <IconCheck size={16} color="var(--allow)" aria-label="completed" style={style} />;
  return <IconLoader size={16} color="var(--muted)" aria-label={status || "called"} style={style} />;
}
