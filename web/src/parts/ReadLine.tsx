import { Fragment } from "react";
import type { Schemas } from "../api/client";

type Line = Schemas["LineModel"];

/** A shell line as it was read: the risky part marked, and every program that it would run, with what it was taken for. */
export function ReadLine({ line }: { line: Line }) {
  return (
    <div>
      <pre className="code" aria-label="The line">
        {cut(line).map(({ text, risky, at }) =>
          risky ? (
            <mark key={at} className="risky">
              {text}
            </mark>
          ) : (
            <Fragment key={at}>{text}</Fragment>
          ),
        )}
      </pre>
      {line.risky.length > 0 && <p className="muted note">Marked: the match of the deciding rule.</p>}
      {line.unparsed && <p className="note">The line could not be read whole: {line.unparsed_reason}</p>}
      {line.programs.length > 0 && (
        <ol className="programs" aria-label="Programs run by the line">
          {line.programs.map((program, index) => (
            <li key={index} style={{ paddingLeft: Math.min(program.depth, 6) * 12 }}>
              <span className="mono">{program.argv.join(" ")}</span>{" "}
              <span className="muted">
                {program.categories.join(", ")}
                {program.guess ? " (a guess: an unknown program may run it)" : ""}
              </span>
            </li>
          ))}
        </ol>
      )}
      {line.writes.length > 0 && (
        <p className="note">
          Writes <span className="mono">{line.writes.join(", ")}</span>
        </p>
      )}
    </div>
  );
}

interface Part {
  text: string;
  risky: boolean;
  at: number;
}

/** Cut a line at the borders of its risky parts. The API counts code points, so the text is taken apart by them. */
function cut(line: Line): Part[] {
  const characters = Array.from(line.text);
  const borders = new Set([0, characters.length, ...line.risky.flatMap(({ start, end }) => [start, end])]);
  const sorted = [...borders].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((at, index) => ({
    at,
    text: characters.slice(at, sorted[index + 1]).join(""),
    risky: line.risky.some(({ start, end }) => start <= at && at < end),
  }));
}
