import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { moment, relative } from "../../parts/time";
import { type Browser, browsersQuery } from "./queries";

/** The browsers that are signed in to this console. */
export function Browsers() {
  const found = useQuery(browsersQuery);
  const [ending, setEnding] = useState<Browser>();
  return (
    <section className="panel" aria-label="Signed-in browsers">
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Signed-in browsers"
          rows={found.data.items}
          id={(one) => one.id}
          empty="No signed-in browser is visible to you."
          columns={[
            { name: "User", cell: (one) => <b>{one.user}</b> },
            { name: "Role", cell: (one) => one.role },
            { name: "Signed in", cell: (one) => <span title={moment(one.created_at)}>{relative(one.created_at)}</span> },
            { name: "Ends", cell: (one) => relative(one.expires_at) },
            { name: "By", cell: (one) => (one.by === "token" ? `token ${one.token_id}` : one.by === "account" ? "their account" : "a link") },
          ]}
          actions={(one) =>
            one.current ? (
              "this browser"
            ) : (
              <Button size="xs" variant="default" onClick={() => setEnding(one)} aria-label={`Sign out a browser of ${one.user}`}>
                Sign out
              </Button>
            )
          }
        />
      )}
      {ending && (
        <ReasonDialog
          title={`Sign out a browser of ${ending.user}?`}
          text="It must sign in again."
          submit="Sign out"
          changes={["browsers"]}
          close={() => setEnding(undefined)}
          run={(reason) => body(api.DELETE("/session/browsers/{browser_id}", { params: { path: { browser_id: ending.id }, query: { reason } } }))}
        />
      )}
    </section>
  );
}
