import { Button, Group } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { Pick } from "../../parts/Pick";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { State } from "../../parts/State";
import { moment, relative } from "../../parts/time";
import { NewToken } from "./NewToken";
import { type Token, tokensQuery } from "./queries";
import { TokenForm } from "./TokenForm";

const route = getRouteApi("/shell/people");

function state(one: Token) {
  if (one.revoked_at) return <State is="idle">revoked {relative(one.revoked_at)}</State>;
  if (one.expires_at && new Date(one.expires_at) < new Date()) return <State is="idle">expired {relative(one.expires_at)}</State>;
  return <State is="good">{one.expires_at ? `good until ${moment(one.expires_at)}` : "good"}</State>;
}

/** The tokens by which people, hooks and machines speak to this server. */
export function Tokens() {
  const { user = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery(tokensQuery(user));
  const [making, setMaking] = useState<"person" | "hook">();
  const [made, setMade] = useState("");
  const [revoking, setRevoking] = useState<Token>();
  const filter = (value: string) => value !== user && void navigate({ search: { tab: "tokens", user: value || undefined }, replace: true });
  return (
    <section className="panel" aria-label="Tokens">
      <Group justify="space-between" align="end" mb="sm" role="search">
        <Pick kind="user" label="User" value={user} onChange={filter} />
        <Group gap="xs">
          <Button variant="default" onClick={() => setMaking("hook")}>
            A token for my hooks
          </Button>
          <Button onClick={() => setMaking("person")}>Make a token</Button>
        </Group>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Tokens"
          rows={found.data.pages.flatMap((page) => page.items)}
          id={(one) => one.id}
          empty="No token exists. Without one, this server accepts requests only from its own machine."
          columns={[
            { name: "User", cell: (one) => <b>{one.user}</b> },
            { name: "Role", cell: (one) => (one.machine ? `${one.role}, ${one.machine}` : one.role) },
            { name: "State", cell: state },
            { name: "Last used", cell: (one) => (one.last_used_at ? <span title={moment(one.last_used_at)}>{relative(one.last_used_at)}</span> : "never") },
            { name: "Made", cell: (one) => `${moment(one.created_at)} by ${one.created_by}` },
            { name: "Id", cell: (one) => <span className="mono">{one.id}</span> },
          ]}
          actions={(one) =>
            one.revoked_at ? null : (
              <Button size="xs" variant="default" onClick={() => setRevoking(one)} aria-label={`Revoke token ${one.id} of ${one.user}`}>
                Revoke
              </Button>
            )
          }
        />
      )}
      {found.hasNextPage && (
        <Button variant="default" onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
      {making && <TokenForm kind={making} made={setMade} close={() => setMaking(undefined)} />}
      {made && <NewToken text={made} close={() => setMade("")} />}
      {revoking && (
        <ReasonDialog
          title={`Revoke this token of ${revoking.user}?`}
          text="Every server refuses it within a second. Browsers signed in with it are signed out."
          submit="Revoke"
          changes={["tokens", "browsers"]}
          close={() => setRevoking(undefined)}
          run={(reason) => body(api.DELETE("/tokens/{token_id}", { params: { path: { token_id: revoking.id }, query: { reason } } }))}
        />
      )}
    </section>
  );
}
