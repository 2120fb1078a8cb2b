import { Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "./FormDialog";

interface Props {
  title: string;
  text: string;
  submit: string;
  run: (reason: string) => Promise<unknown>;
  changes: readonly string[];
  close: () => void;
}

/** Asks once more before something ends, and why; the reason is kept in the audit log. */
export function ReasonDialog({ title, text, submit, run, changes, close }: Props) {
  const [reason, setReason] = useState("");
  return (
    <FormDialog title={title} submit={submit} color="red" run={() => run(reason.trim())} changes={changes} close={close}>
      <Text>{text}</Text>
      <TextInput label="Why" description="Kept in the audit log." value={reason} onChange={(event) => setReason(event.currentTarget.value)} data-autofocus />
    </FormDialog>
  );
}
