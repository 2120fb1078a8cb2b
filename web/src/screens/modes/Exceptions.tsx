import { Button, Group, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { moment, relative } from "../../parts/time";
import { GrantForm } from "../../parts/decision/GrantForm";
import { type RuleException, exceptionsQuery } from "./queries";

/** The requested exceptions, and those in force. */
export function Exceptions() {
  const found = useInfiniteQuery(exceptionsQuery);
  const [granting, setGranting] = useState<RuleException>();
  const [ending, setEnding] = useState<RuleException>();
  return (
    <section className="panel" aria-label="Exceptions">
      <Text c="dimmed" mb="sm">
        A rule does not stop these calls until the exception ends.
      </Text>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Exceptions"
          rows={found.data.pages.flatMap((page) => page.items)}
          id={(one) => one.id}
          empty="No exception exists. A refused call explains how to request one."
          columns={[
            { name: "Rule", cell: (one) => <span className="mono">{one.rule}</span> },
            { name: "Call", cell: (one) => <Link to="/decisions" search={{ session_id: one.session_id }}>{one.state === "granted" && one.scope !== "once" ? one.shape : one.shown}</Link> },
            { name: "State", cell: (one) => (one.scope ? `${one.state}: ${one.scope}` : one.state) },
            { name: "User", cell: (one) => one.user },
            { name: "Why", cell: (one) => one.reason },
            { name: "By", cell: (one) => `${one.granted_by || one.created_by}, ${moment(one.created_at)}` },
            { name: "Ends", cell: (one) => <span title={moment(one.expires_at)}>{relative(one.expires_at)}</span> },
          ]}
          actions={(one) => (
            <Group gap="xs">
              {one.state === "requested" && (
                <Button size="xs" onClick={() => setGranting(one)} aria-label={`Grant: ${one.rule} for ${one.user}`}>
                  Grant
                </Button>
              )}
              <Button size="xs" variant="default" onClick={() => setEnding(one)} aria-label={`End: ${one.rule} for ${one.user}`}>
                End
              </Button>
            </Group>
          )}
        />
      )}
      {found.hasNextPage && (
        <Button variant="default" onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
      {granting && <GrantForm asked={granting} close={() => setGranting(undefined)} />}
      {ending && (
        <ReasonDialog
          title="End this exception?"
          text={`Rule ${ending.rule} applies again to calls of ${ending.user}.`}
          submit="End it"
          changes={["exceptions"]}
          close={() => setEnding(undefined)}
          run={(reason) => body(api.DELETE("/exceptions/{exception_id}", { params: { path: { exception_id: ending.id }, query: { reason } } }))}
        />
      )}
    </section>
  );
}
