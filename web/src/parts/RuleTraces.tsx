import { Effect } from "./Effect";

/** What a rule made of a call: its effect, or why it did not match. */
export interface RuleTrace {
  id: string;
  decision: string;
  effect?: string | null | undefined;
  why?: string | null | undefined;
  when?: string | null | undefined;
}

/** The rules that matched a call; with `all` also why each of the others did not. */
export function RuleTraces({ rules, all }: { rules: readonly RuleTrace[]; all: boolean }) {
  const matched = rules.filter((rule) => rule.effect);
  const others = rules.filter((rule) => !rule.effect);
  return (
    <>
      <ul className="traces" aria-label="Matching rules">
        {matched.map((rule) => (
          <li key={rule.id}>
            <Effect effect={rule.effect ?? ""} /> <span className="mono">{rule.id}</span>
          </li>
        ))}
        {matched.length === 0 && <li className="muted">No rule matched.</li>}
      </ul>
      {all && others.length > 0 && (
        <ul className="traces" aria-label="Rules without a match">
          {others.map((rule) => (
            <li key={rule.id}>
              <span className="mono">{rule.id}</span> <span className="muted">{rule.why}</span>
              {rule.when && <span className="mono muted"> when: {rule.when}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
