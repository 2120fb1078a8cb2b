import "@mantine/core/styles/NumberInput.css";
import { Button, Group, NumberInput, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { moment, relative } from "../../parts/time";
import { type Override, overridesQuery } from "./queries";

/** The rules that somebody lifted for a session, for a time. */
export function Overrides() {
  const found = useInfiniteQuery(overridesQuery);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Override>();
  return (
    <section className="panel" aria-label="Overrides">
      <Group justify="space-between" mb="sm">
        <Text c="dimmed">A rule without effect on one session, until its time ends.</Text>
        <Button onClick={() => setMaking(true)}>Lift a rule</Button>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Overrides"
          rows={found.data.pages.flatMap((page) => page.items)}
          id={(one) => one.id}
          empty="No rule is lifted. A refused call says how to ask for it; lift the rule here for one session."
          columns={[
            { name: "Rule", cell: (one) => <span className="mono">{one.rule}</span> },
            { name: "Session", cell: (one) => <Link to="/decisions" search={{ session_id: one.session_id }}>{one.session_id}</Link> },
            { name: "User", cell: (one) => one.user },
            { name: "Why", cell: (one) => one.reason },
            { name: "By", cell: (one) => `${one.created_by}, ${moment(one.created_at)}` },
            { name: "Ends", cell: (one) => <span title={moment(one.expires_at)}>{relative(one.expires_at)}</span> },
          ]}
          actions={(one) => (
            <Button size="xs" variant="default" onClick={() => setEnding(one)} aria-label={`End: ${one.rule} for ${one.session_id}`}>
              End
            </Button>
          )}
        />
      )}
      {found.hasNextPage && (
        <Button variant="default" onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
      {making && <OverrideForm close={() => setMaking(false)} />}
      {ending && (
        <ReasonDialog
          title="End this override?"
          text={`Rule ${ending.rule} counts again for session ${ending.session_id}.`}
          submit="End it"
          changes={["overrides"]}
          close={() => setEnding(undefined)}
          run={(reason) => body(api.DELETE("/overrides/{override_id}", { params: { path: { override_id: ending.id }, query: { reason } } }))}
        />
      )}
    </section>
  );
}

function OverrideForm({ close }: { close: () => void }) {
  const [texts, setTexts] = useState({ session_id: "", user: "", rule: "", reason: "" });
  const [minutes, setMinutes] = useState(60);
  const field = (name: keyof typeof texts, label: string, description = "", required = true) => (
    <TextInput label={label} description={description} required={required} value={texts[name]} onChange={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })} />
  );
  return (
    <FormDialog title="Lift a rule" submit="Lift" run={() => body(api.POST("/overrides", { body: { ...texts, minutes } }))} changes={["overrides"]} close={close}>
      {field("rule", "Rule", "Its id; `*` is every rule that the mode switches.")}
      {field("session_id", "Session")}
      {field("user", "User", "Empty: whose calls of the session are recorded.", false)}
      <NumberInput label="Minutes" min={1} value={minutes} onChange={(value) => setMinutes(Number(value))} />
      {field("reason", "Why", "Kept in the audit log.")}
    </FormDialog>
  );
}
