import type { ReactNode } from "react";

/** A command with its risky parts marked. Positions count characters, of which JavaScript may need two units. */
export function Marked({ text, risky }: { text: string; risky: readonly number[][] }) {
  const characters = Array.from(text);
  const parts: ReactNode[] = [];
  let at = 0;
  for (const [start = 0, end = 0] of risky) {
    parts.push(characters.slice(at, start).join(""));
    parts.push(
      <mark key={start} className="risky">
        {characters.slice(start, end).join("")}
      </mark>,
    );
    at = end;
  }
  parts.push(characters.slice(at).join(""));
  return (
    <pre className="command" tabIndex={0} role="region" aria-label="Command">
      {parts}
    </pre>
  );
}
