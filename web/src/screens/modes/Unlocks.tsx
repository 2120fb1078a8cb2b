import { Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { fromField, moment, relative } from "../../parts/time";
import { type Unlock, unlocksQuery } from "./queries";

/** The locked rules that an admin freed for a time: uploaded layers may loosen them until then. */
export function Unlocks() {
  const found = useQuery(unlocksQuery);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Unlock>();
  return (
    <section className="panel" aria-label="Unlocked rules">
      <Group justify="space-between" mb="sm">
        <Text c="dimmed">A locked rule that layers may loosen until a time. For admins.</Text>
        <Button onClick={() => setMaking(true)}>Unlock a rule</Button>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Unlocked rules"
          rows={found.data}
          id={(one) => one.id}
          empty="Every lock holds."
          columns={[
            { name: "Rule", cell: (one) => <span className="mono">{one.rule}</span> },
            { name: "For", cell: (one) => [one.team && `team ${one.team}`, one.user].filter(Boolean).join(", ") || "everybody" },
            { name: "Why", cell: (one) => one.reason },
            { name: "By", cell: (one) => `${one.created_by}, ${moment(one.created_at)}` },
            { name: "Until", cell: (one) => <span title={moment(one.until)}>{relative(one.until)}</span> },
          ]}
          actions={(one) => (
            <Button size="xs" variant="default" onClick={() => setEnding(one)} aria-label={`Lock again: ${one.rule}`}>
              Lock again
            </Button>
          )}
        />
      )}
      {making && <UnlockForm close={() => setMaking(false)} />}
      {ending && (
        <ReasonDialog
          title="Lock this rule again?"
          text={`Files of layers that loosen ${ending.rule} are left out from now on.`}
          submit="Lock again"
          changes={["unlocks"]}
          close={() => setEnding(undefined)}
          run={(reason) => body(api.DELETE("/policies/unlocks/{unlock_id}", { params: { path: { unlock_id: ending.id }, query: { reason } } }))}
        />
      )}
    </section>
  );
}

function UnlockForm({ close }: { close: () => void }) {
  const [texts, setTexts] = useState({ rule: "", team: "", user: "", reason: "", until: "" });
  const field = (name: keyof typeof texts, label: string, more = {}) => (
    <TextInput label={label} value={texts[name]} onChange={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })} {...more} />
  );
  const run = () => body(api.POST("/policies/unlocks", { body: { ...texts, until: fromField(texts.until) ?? "" } }));
  return (
    <FormDialog title="Unlock a rule" submit="Unlock" run={run} changes={["unlocks"]} close={close}>
      {field("rule", "Rule", { required: true, description: "Its id, or a glob such as `guardrails/force-*`." })}
      {field("team", "Team", { placeholder: "every team" })}
      {field("user", "User", { placeholder: "every user" })}
      {field("until", "Until", { required: true, type: "datetime-local", description: "At most 30 days from now." })}
      {field("reason", "Why", { required: true, description: "Kept in the audit log." })}
    </FormDialog>
  );
}
