import "@mantine/core/styles/Modal.css";
import { Button, Group, Modal, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Failed } from "./Failed";

interface ReasonButtonProps {
  label: string;
  /** What follows, or further fields; above the reason. */
  children?: ReactNode;
  disabled?: boolean;
  act: (reason: string) => Promise<unknown>;
}

/** A button for what is audited: it asks for a reason before it acts, and stays open where that fails. */
export function ReasonButton({ label, children, disabled = false, act }: ReasonButtonProps) {
  const [opened, { open, close }] = useDisclosure();
  const [reason, setReason] = useState("");
  const acting = useMutation({ mutationFn: () => act(reason.trim()), onSuccess: close });
  return (
    <>
      <Button size="xs" variant="default" onClick={open}>
        {label}
      </Button>
      <Modal opened={opened} onClose={close} title={label} centered closeButtonProps={{ "aria-label": "Close" }}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            acting.mutate();
          }}
        >
          {children}
          <TextInput label="Reason, for the audit log" value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={1_000} data-autofocus />
          <Failed error={acting.error} again={() => acting.mutate()} />
          <Group justify="flex-end" mt="md">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={acting.isPending} disabled={disabled}>
              {label}
            </Button>
          </Group>
        </form>
      </Modal>
    </>
  );
}
