import { SimpleGrid, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ApiError } from "../../api/client";
import { meQuery, statusQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { State } from "../../parts/State";
import { moment, relative } from "../../parts/time";
import { Clients } from "./Clients";
import { Counts } from "./Counts";
import { serversQuery, type Status } from "./queries";
import { Servers } from "./Servers";
import { Settings } from "./Settings";

/** Whether the server is well: what runs, what is away and since when, what waits, and which settings are in force. */
export function Health() {
  const me = useQuery(meQuery);
  const operator = me.data?.rights["metrics.read"] !== undefined;
  const status = useQuery(statusQuery);
  const servers = useQuery({ ...serversQuery, enabled: operator });
  const refused = servers.error instanceof ApiError && servers.error.status === 403;
  return (
    <Stack gap="md">
      <Title order={1}>Health</Title>
      <Failed error={status.error} again={() => void status.refetch()} />
      {status.data && <Summary status={status.data} />}
      {operator && !refused && (
        <>
          <Failed error={servers.error} again={() => void servers.refetch()} />
          {servers.data && <Servers found={servers.data} />}
        </>
      )}
      {status.data && (
        <>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Counts title="Records in the pipeline" counts={status.data.records} bad={["dropped", "shed", "set_aside"]} />
            <Counts title="Degraded decisions" counts={status.data.degraded} bad={Object.keys(status.data.degraded)} />
            <Counts title="Hook calls without a decision" counts={status.data.hook_failures} bad={Object.keys(status.data.hook_failures)} />
            {operator && <Counts title="Refused tokens" counts={status.data.refused} bad={Object.keys(status.data.refused)} />}
          </SimpleGrid>
          <Clients clients={status.data.clients} runners={status.data.runners} />
        </>
      )}
      {operator ? <Settings /> : <p className="muted">Servers, dependencies and settings are shown to admins and auditors.</p>}
    </Stack>
  );
}

function Summary({ status }: { status: Status }) {
  const open = status.breakers.filter((one) => !one.allows).length;
  return (
    <section className="panel" aria-label="Summary">
      <dl className="facts">
        <dt className="muted">State</dt>
        <dd>
          <State is={status.status === "ready" ? "good" : "bad"}>{status.status}</State>
        </dd>
        <dt className="muted">Version</dt>
        <dd>
          {status.version}, since <span title={moment(status.started_at)}>{relative(status.started_at)}</span>
        </dd>
        <dt className="muted">Policies</dt>
        <dd>
          <span className="mono">{status.policy_revision}</span>, loaded {relative(status.policy_loaded_at)}
          {status.policy_problems.map((one) => (
            <div key={`${one.file} ${one.line} ${one.text}`}>
              <State is="bad">
                {one.file}:{one.line}: {one.text}
              </State>
            </div>
          ))}
        </dd>
        <dt className="muted">Breakers</dt>
        <dd>
          <State is={open > 0 ? "bad" : "good"}>{open > 0 ? `${open} open` : "all closed"}</State>{" "}
          {status.breakers
            .filter((one) => !one.allows)
            .map((one) => `${one.name}: ${one.cause || one.state}`)
            .join(", ")}
        </dd>
        {status.model && (
          <>
            <dt className="muted">Model</dt>
            <dd>
              <State is={status.model.up ? "good" : "bad"}>{status.model.up ? "up" : status.model.detail || "not checked yet"}</State> {status.model.model} at {status.model.url}
            </dd>
          </>
        )}
        <dt className="muted">Word table</dt>
        <dd>
          <State is={status.word_table === "missing" ? "bad" : status.word_table === "loaded" ? "good" : "idle"}>{status.word_table}</State>
        </dd>
        {status.policy_unlocks.length > 0 && (
          <>
            <dt className="muted">Unlocked</dt>
            <dd>
              <Link to="/modes" search={{ tab: "unlocks" }}>
                {status.policy_unlocks.length} locked rules are free for a time
              </Link>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}
