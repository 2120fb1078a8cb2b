import { Fragment, type ReactNode } from "react";

/** Names with their values; a fact without a value is left out. */
export function Facts({ facts }: { facts: readonly [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value ? (
          <Fragment key={name}>
            <dt className="muted">{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ) : null,
      )}
    </dl>
  );
}
