import { NativeSelect, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, body } from "../../api/client";
import { FormDialog } from "../../parts/FormDialog";
import { Pick } from "../../parts/Pick";
import { fromField } from "../../parts/time";
import { ROLES } from "./queries";

type RoleName = keyof typeof ROLES;

/** Makes a token for a person or a machine, or for the hooks of one's own machine. */
export function TokenForm({ kind, made, close }: { kind: "person" | "hook"; made: (text: string) => void; close: () => void }) {
  const [texts, setTexts] = useState({ user: "", team: "", expires: "", reason: "", machine: "" });
  const [role, setRole] = useState<RoleName>("developer");
  const field = (name: keyof typeof texts, label: string, more = {}) => (
    <TextInput label={label} value={texts[name]} onChange={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })} {...more} />
  );

  async function run() {
    const { text } =
      kind === "hook"
        ? await body(api.POST("/tokens/hook", { body: { machine: texts.machine.trim() } }))
        : await body(
            api.POST("/tokens", {
              body: { user: texts.user.trim(), role, team: texts.team.trim(), expires_at: fromField(texts.expires), reason: texts.reason.trim() },
            }),
          );
    made(text);
  }

  if (kind === "hook")
    return (
      <FormDialog title="A token for my hooks" submit="Make" run={run} changes={["tokens"]} close={close}>
        <Text>It posts the events of one machine's agents as you. It cannot weaken rules.</Text>
        {field("machine", "Machine", { required: true, description: "Its name, to distinguish your tokens." })}
      </FormDialog>
    );
  return (
    <FormDialog title="Make a token" submit="Make" run={run} changes={["tokens", "users"]} close={close}>
      <Pick kind="user" loose label="User" value={texts.user} onChange={(user) => setTexts({ ...texts, user })} required description="The token acts as this user. A new name is added to the directory." />
      <NativeSelect label="Role" description={ROLES[role]} data={Object.keys(ROLES)} value={role} onChange={(event) => setRole(event.currentTarget.value as RoleName)} />
      <Pick kind="team" label="Team" value={texts.team} onChange={(team) => setTexts({ ...texts, team })} description="For a new user. Empty: your own team." />
      {field("expires", "Until", { type: "datetime-local", description: "Empty: no expiry." })}
      {field("reason", "Why", { description: "Kept in the audit log." })}
    </FormDialog>
  );
}
