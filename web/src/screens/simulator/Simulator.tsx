import { Button, Group, Loader, Stack, Title } from "@mantine/core";
import { IconColumns } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { decisionQuery, meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { Answer } from "./Answer";
import { CallForm } from "./CallForm";
import { callOf } from "./queries";

const route = getRouteApi("/shell/simulator");

/** Asks the rules about any call: those in force or of a revision, two of them side by side, in any mode, for anybody. */
export function Simulator() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/simulator" });
  const me = useQuery(meQuery);
  const fromDecision = Boolean(search.from && !search.tool);
  const decision = useQuery({ ...decisionQuery(search.from ?? ""), enabled: fromDecision });
  const { a, b, ...given } = search;
  const asked = fromDecision && decision.data ? callOf(decision.data) : given;
  const merge = (more: object) => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  if (fromDecision && !decision.data) {
    return decision.error ? <Failed error={decision.error} again={() => void decision.refetch()} /> : <Loader aria-label="Loading" />;
  }
  const left = a ?? (fromDecision ? decision.data?.revision : undefined) ?? "";
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Simulator</Title>
        {asked.from && (
          <Link to="/decisions" search={{ id: asked.from }}>
            The original decision
          </Link>
        )}
      </Group>
      <p className="muted note">Nothing is recorded or sent to an agent.</p>
      <CallForm key={asked.from ?? ""} asked={asked} ask={merge} others={Boolean(me.data?.rights["policies.replay"])} />
      <div className={b === undefined ? "" : "beside"}>
        <Answer asked={asked} revision={left === "now" ? "" : left} choose={(revision) => merge({ a: revision || "now" })} label="Asked" />
        {b !== undefined && (
          <Answer
            asked={asked}
            revision={b === "now" ? "" : b}
            choose={(revision) => merge({ b: revision || "now" })}
            close={() => merge({ b: undefined })}
            label="Comparison"
          />
        )}
      </div>
      {b === undefined && (
        <Group>
          <Button variant="default" leftSection={<IconColumns size={16} aria-hidden />} onClick={() => merge({ b: "now" })}>
            Compare with another revision
          </Button>
        </Group>
      )}
    </Stack>
  );
}
