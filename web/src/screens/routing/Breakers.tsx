import { Group, Stack, Text, Title } from "@mantine/core";
import { IconCircleCheck, IconCircleX, IconHelpCircle } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, body } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { ReasonButton } from "../../parts/ReasonButton";
import { moment } from "../../parts/time";
import { type Breaker, breakersQuery } from "./queries";

const STATES = {
  closed: { word: "Asked", Icon: IconCircleCheck, colour: "var(--allow)" },
  half_open: { word: "On probation", Icon: IconHelpCircle, colour: "var(--ask)" },
  open: { word: "Not asked", Icon: IconCircleX, colour: "var(--deny)" },
};
const ACTIONS = { open: "Hold open", close: "Hold closed", reset: "Reset" } as const;

/** Whether the services that routing asks are asked now; admins may hold them open or closed. */
export function Breakers() {
  const found = useQuery(breakersQuery);
  const mayAct = Boolean(useQuery(meQuery).data?.rights["breakers.write"]);
  return (
    <Stack gap="md">
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.data?.items.map((one) => <BreakerCard key={one.name} one={one} mayAct={mayAct} />)}
      {found.isSuccess && found.data.items.length === 0 && (
        <Text className="muted panel">Routing uses no model and no node here, so no breaker exists. Set <code>BATON_MODEL_URL</code> to ask a model.</Text>
      )}
    </Stack>
  );
}

function BreakerCard({ one, mayAct }: { one: Breaker; mayAct: boolean }) {
  const queries = useQueryClient();
  const { word, Icon, colour } = STATES[one.state];
  const act = (action: keyof typeof ACTIONS) => async (reason: string) => {
    const sent = { params: { path: { name: one.name } }, body: { reason } };
    const paths = { open: "/breakers/{name}/open", close: "/breakers/{name}/close", reset: "/breakers/{name}/reset" } as const;
    await body(api.POST(paths[action], sent));
    await queries.invalidateQueries({ queryKey: breakersQuery.queryKey });
  };
  return (
    <section className="panel" aria-label={`Breaker ${one.name}`}>
      <Group justify="space-between" align="start">
        <div>
          <Title order={2}>{one.name}</Title>
          <span className="effect" style={{ color: colour }} data-state={one.state}>
            <Icon size={16} aria-hidden />
            {word}
            {one.held && ` (held ${one.held} by a person)`}
          </span>
        </div>
        {mayAct && (
          <Group gap="xs">
            <ReasonButton label={ACTIONS.open} act={act("open")} disabled={one.held === "open"} />
            <ReasonButton label={ACTIONS.close} act={act("close")} disabled={one.held === "closed"} />
            <ReasonButton label={ACTIONS.reset} act={act("reset")} />
          </Group>
        )}
      </Group>
      <Text size="sm" mt="xs">
        {one.calls} calls since its last change: {one.failed} failed, {one.slow} took longer than {one.slow_ms} ms. {one.judged > 0 && `${one.right} of ${one.judged} judged choices were right.`}
      </Text>
      {(one.cause || one.open_until || one.local) && (
        <Text size="sm" className="muted">
          {[one.cause, one.open_until && `retried at ${moment(one.open_until)}`, one.local && "Redis is unavailable: known only to this server"].filter(Boolean).join(" · ")}
        </Text>
      )}
    </section>
  );
}
