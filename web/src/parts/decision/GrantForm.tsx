import { NativeSelect, NumberInput, TextInput } from "@mantine/core";
import "@mantine/core/styles/NumberInput.css";
import { useState } from "react";
import { api, body, type Schemas } from "../../api/client";
import { FormDialog } from "../FormDialog";

const SCOPES = [
  { value: "once", label: "This call, once" },
  { value: "session", label: "Calls of its shape in its session" },
  { value: "user", label: "Calls of its shape by its user" },
  { value: "project", label: "Calls of its shape in its project" },
  { value: "team", label: "Calls of its shape by its team" },
];

/** Grants a request, or requests and grants an exception from a decision. The API says who may grant which rule. */
export function GrantForm({ close, asked, decisionId }: { close: () => void; asked?: Schemas["ExceptionModel"]; decisionId?: string }) {
  const [scope, setScope] = useState(asked ? "once" : "session");
  const [minutes, setMinutes] = useState(60);
  const [reason, setReason] = useState("");
  const run = async () => {
    const one = asked ?? (await body(api.POST("/exceptions", { body: { decision_id: decisionId ?? "", reason } })));
    const until = new Date(Date.now() + minutes * 60_000).toISOString();
    return body(
      api.POST("/exceptions/{exception_id}/grant", {
        params: { path: { exception_id: one.id } },
        body: { scope: scope as Schemas["GrantBody"]["scope"], until, reason },
      }),
    );
  };
  return (
    <FormDialog title="Grant an exception" submit="Grant" run={run} changes={["exceptions"]} close={close}>
      {asked && (
        <pre className="command" aria-label="The stopped call">
          {asked.shown}
        </pre>
      )}
      {asked && <p className="muted">{`Rule ${asked.rule}. Shape: ${asked.shape}`}</p>}
      <NativeSelect label="For" data={SCOPES} value={scope} onChange={(event) => setScope(event.currentTarget.value)} />
      <NumberInput label="Minutes" min={1} value={minutes} onChange={(value) => setMinutes(Number(value))} />
      <TextInput label="Why" description="Kept in the audit log." required value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
    </FormDialog>
  );
}
