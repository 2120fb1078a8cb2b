import { Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { fromField, moment, relative } from "../../parts/time";
import { getRouteApi } from "@tanstack/react-router";
import { useMaking } from "../../parts/making";
import { Pick } from "../../parts/Pick";
import { type Unlock, unlocksQuery } from "./queries";

const route = getRouteApi("/shell/modes");

/** The locked rules that an admin freed for a time: uploaded layers may loosen them until then. */
export function Unlocks() {
  const found = useQuery(unlocksQuery);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [making, setMaking] = useMaking(search.make, () => void navigate({ search: { ...search, make: undefined }, replace: true }));
  const [ending, setEnding] = useState<Unlock>();
  return (
    <section className="panel" aria-label="Unlocked rules">
      <Group justify="space-between" mb="sm">
        <Text c="dimmed">Allows layers to loosen a locked rule until a set time. Only for admins.</Text>
        <Button onClick={() => setMaking(true)}>Unlock a rule</Button>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Unlocked rules"
          rows={found.data}
          id={(one) => one.id}
          empty="No rule is unlocked."
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
          text={`Layer files loosening ${ending.rule} are ignored from now on.`}
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
  const pick = (kind: "rule" | "team" | "user", more = {}) => (
    <Pick key={kind} kind={kind} label={`${kind[0]?.toUpperCase()}${kind.slice(1)}`} value={texts[kind]} onChange={(value) => setTexts({ ...texts, [kind]: value })} {...more} />
  );
  const run = () => body(api.POST("/policies/unlocks", { body: { ...texts, until: fromField(texts.until) ?? "" } }));
  return (
    <FormDialog title="Unlock a rule" submit="Unlock" run={run} changes={["unlocks"]} close={close}>
      {pick("rule", { loose: true, required: true, description: "Its id, or a glob such as `guardrails/force-*`." })}
      {pick("team", { placeholder: "every team" })}
      {pick("user", { placeholder: "every user" })}
      {field("until", "Until", { required: true, type: "datetime-local", description: "At most 30 days from now." })}
      {field("reason", "Why", { required: true, description: "Kept in the audit log." })}
    </FormDialog>
  );
}
