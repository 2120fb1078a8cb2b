import { memo } from "react";
import type { Decision } from "../api/client";
import { Effect } from "./Effect";
import { when } from "./time";

/** What a call was about, in one line. */
export const subject = (one: Decision) =>
  one.command || one.paths[0] || one.routed_to || (one.model_injected && `on ${one.model_injected}`) || one.project || one.event;

/** What a list shows as a call's effect: an alarm where it ran although refused, and what a rule in shadow would have done. */
export const effectOf = (one: Decision) =>
  one.outcome === "ran_anyway" ? "ran_anyway" : one.effect === "abstain" ? (one.rules.find(({ effect }) => effect === "shadow" || effect === "lifted")?.effect ?? one.effect) : one.effect;

/** The rule that decided, or the first that had something to say. */
export const deciding = (one: Decision) =>
  one.rules.find((rule) => rule.effect === one.effect)?.id ?? one.rules[0]?.id ?? "";

/** One decision in a list; a click opens it. */
export const DecisionRow = memo(function DecisionRow({ one, open }: { one: Decision; open: (id: string) => void }) {
  return (
    <button type="button" className="row" onClick={() => open(one.id)} data-decision={one.id}>
      <span className="muted mono">{when(one.at)}</span>
      <Effect effect={effectOf(one)} />
      <span className="wide cut">{one.user}</span>
      <span className="wide cut muted" title={deciding(one)}>
        {deciding(one)}
      </span>
      <span className="cut mono">
        <span className="muted">{one.tool ?? one.event}</span> {subject(one)}
      </span>
      <span className="wide muted">{one.elapsed_ms.toFixed(1)} ms</span>
    </button>
  );
});
