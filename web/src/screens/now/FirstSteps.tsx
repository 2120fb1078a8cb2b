import { List, Title } from "@mantine/core";
import { IconCircle, IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { firstStepsQuery } from "./queries";
import { Words } from "../../parts/Words";

/** What a fresh server still needs. Each step turns green by itself, and the list goes away with the last one. */
export function FirstSteps({ calls }: { calls: number }) {
  const { data } = useQuery(firstStepsQuery);
  const queries = useQueryClient();
  const called = calls > 0;
  useEffect(() => {
    if (called) void queries.invalidateQueries(firstStepsQuery);
  }, [called, queries]);
  if (!data) return null;
  const unheard = data.unheard.map((one) => `${one.client} of ${one.user}`).join(", ");
  const silent = unheard && `Installed, but no call yet: ${unheard}. Start a session there, or run \`baton doctor\`.`;
  const steps: [string, boolean, string][] = [
    ["The server runs", true, ""],
    ["A hook is installed", data.hooked, "Run `baton hooks install` in a project, and start your agent there."],
    ["The first call was seen", data.called, silent || "Let the agent run something, such as `git status`."],
    ["The first call was refused", data.refused, "Ask the agent to run `rm -rf /` wrapped in something; it will not run."],
    ["A rule of your own is active", data.ownRule, "Open a decision and make a rule from it, or upload a layer."],
  ];
  if (steps.every(([, done]) => done)) return null;
  const next = steps.findIndex(([, done]) => !done);
  return (
    <section className="panel" aria-label="First steps">
      <Title order={2} mb="xs">
        First steps
      </Title>
      <List listStyleType="none" spacing={4} styles={{ itemWrapper: { alignItems: "start" }, itemIcon: { display: "flex", paddingTop: 2 } }}>
        {steps.map(([name, done, how], index) => (
          <List.Item
            key={name}
            data-done={done}
            icon={
              done ? (
                <IconCircleCheck size={18} color="var(--allow)" role="img" aria-label="Done" />
              ) : (
                <IconCircle size={18} color="var(--muted)" role="img" aria-label="To do" />
              )
            }
          >
            {name}
            {index === next && (
              <div className="muted">
                <Words text={how} />
              </div>
            )}
          </List.Item>
        ))}
      </List>
      {!data.called && (
        <p className="muted" style={{ marginBottom: 0 }}>
          <Words text="To explore first, run `baton demo`. It fills a new server with sample data." />
        </p>
      )}
    </section>
  );
}
