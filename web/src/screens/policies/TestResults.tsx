import { Loader, Text } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { Failed } from "../../parts/Failed";

/** What is wrong with a draft, and what became of each of its tests; `stale` while somebody types. */
export function TestResults({
  test,
  stale,
  open,
}: {
  test: UseQueryResult<Schemas["PolicyTestModel"]>;
  stale: boolean;
  open: (file: string) => void;
}) {
  const { data, error, refetch } = test;
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loader aria-label="Testing" />;
  const failed = data.tests.filter((one) => !one.passed).length;
  const others = data.problems.filter((problem) => !data.tests.some((one) => one.failure === problem.text));
  const said = data.accepted
    ? `Accepted: ${data.tests.length} tests pass`
    : `Not accepted: ${[others.length && `${others.length} ${others.length === 1 ? "problem" : "problems"}`, failed && `${failed} of ${data.tests.length} tests fail`].filter(Boolean).join(", ")}`;
  return (
    <section className="panel" aria-label="Tests" data-stale={stale || test.isFetching}>
      <Text fw={600} role="status" style={{ color: data.accepted ? "var(--allow)" : "var(--deny)" }}>
        {said}
      </Text>
      <ul className="traces">
        {others.map((problem) => (
          <li key={`${problem.file} ${problem.line} ${problem.text}`}>
            <IconCircleX size={16} color="var(--deny)" aria-label="Problem" />{" "}
            <button type="button" className="plain mono link" onClick={() => open(problem.file)}>
              {problem.line ? `${problem.file}:${problem.line}` : problem.file}
            </button>{" "}
            {problem.text}
          </li>
        ))}
        {data.tests.map((one) => (
          <li key={`${one.rule} ${one.group} ${one.index}`}>
            {one.passed ? (
              <IconCircleCheck size={16} color="var(--allow)" aria-label="Passes" />
            ) : (
              <IconCircleX size={16} color="var(--deny)" aria-label="Fails" />
            )}{" "}
            <span className="muted">{one.group === "match" ? "matches" : "does not match"}</span> <span className="mono">{one.call}</span>
            {one.failure && (
              <>
                <br />
                <button type="button" className="plain mono link" onClick={() => open(one.file)}>
                  {one.file}:{one.line}
                </button>{" "}
                {one.failure}
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
