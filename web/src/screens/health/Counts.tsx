import { Title } from "@mantine/core";
import { Fragment } from "react";
import { State } from "../../parts/State";

/** Names of the API that say too little by themselves. */
const WORDS: Record<string, string> = {
  appended: "queued since the start",
  shed: "dropped, to save space",
  spool_mb: "on disk, MB",
  spool_most_mb: "free disk space, MB",
};

/** Counts by name; those of `bad` names are marked where they are not zero. */
export function Counts({ title, counts, bad }: { title: string; counts: Record<string, number>; bad: readonly string[] }) {
  const shown = Object.entries(counts);
  return (
    <section className="panel" aria-label={title}>
      <Title order={2} mb="xs">
        {title}
      </Title>
      {shown.length === 0 && <State is="good">none</State>}
      <dl className="facts">
        {shown.map(([name, count]) => (
          <Fragment key={name}>
            <dt className="muted">{WORDS[name] ?? name.replaceAll("_", " ")}</dt>
            <dd>{count > 0 && bad.includes(name) ? <State is="bad">{count.toLocaleString()}</State> : count.toLocaleString()}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
