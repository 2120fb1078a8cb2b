import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/InlineInput.css";
import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, body } from "../../api/client";
import { FormDialog } from "../../parts/FormDialog";
import type { Kind } from "../../parts/known";
import { Pick } from "../../parts/Pick";
import { fromField } from "../../parts/time";
import { type Scope, SCOPES } from "./queries";

const IDS: Partial<Record<Scope, string>> = { team: "Team", project: "Project", user: "User", session: "Session" };

/** Sets the mode at one scope. What is left empty is the caller's own; the API says what a scope needs, and who may. */
export function SettingForm({ close }: { close: () => void }) {
  const [scope, setScope] = useState<Scope>("user");
  const [state, setState] = useState<"off" | "guidance" | "strict">("strict");
  const [texts, setTexts] = useState({ id: "", user: "", project: "", reason: "", expires: "" });
  const [locked, setLocked] = useState(false);
  const field = (name: keyof typeof texts, label: string, more = {}) => (
    <TextInput label={label} value={texts[name]} onChange={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })} {...more} />
  );
  const pick = (name: keyof typeof texts, label: string, kind: Kind, placeholder?: string) => (
    <Pick key={kind} label={label} kind={kind} loose={kind === "session"} value={texts[name]} onChange={(value) => setTexts({ ...texts, [name]: value })} placeholder={placeholder} />
  );
  const id = IDS[scope];
  const run = () =>
    body(
      api.PUT("/mode", {
        body: {
          scope,
          id: id ? texts.id.trim() : "",
          user: scope === "user_project" || scope === "session" ? texts.user.trim() : "",
          project: scope === "user_project" ? texts.project.trim() : "",
          enabled: state !== "off",
          level: state === "off" ? "guidance" : state,
          locked: scope === "organisation" && locked,
          reason: texts.reason.trim(),
          expires_at: fromField(texts.expires),
        },
      }),
    );
  return (
    <FormDialog title="Set a mode" submit="Set" run={run} changes={["mode", "modes"]} close={close}>
      <NativeSelect
        label="Scope"
        data={SCOPES.map((one) => ({ value: one, label: one.replace("_", " in ") }))}
        value={scope}
        onChange={(event) => {
          setScope(event.currentTarget.value as Scope);
          setTexts({ ...texts, id: "" });
        }}
      />
      {id && pick("id", id, scope as Kind, scope === "session" ? undefined : "yours")}
      {(scope === "user_project" || scope === "session") && pick("user", "User", "user", "you")}
      {scope === "user_project" && pick("project", "Project", "project")}
      <NativeSelect
        label="Mode"
        data={[
          { value: "strict", label: "Strict: the main agent must delegate" },
          { value: "guidance", label: "Guidance: rules advise instead of refusing" },
          { value: "off", label: "Off" },
        ]}
        value={state}
        onChange={(event) => setState(event.currentTarget.value as typeof state)}
      />
      {scope === "organisation" && (
        <Checkbox label="Locked: narrower settings apply only if stricter" checked={locked} onChange={(event) => setLocked(event.currentTarget.checked)} />
      )}
      {field("expires", "Until", { type: "datetime-local", description: "Empty: no expiry." })}
      {field("reason", "Why", { description: "Kept in the audit log." })}
    </FormDialog>
  );
}
