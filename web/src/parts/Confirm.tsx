import "@mantine/core/styles/Modal.css";
import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";

interface Props {
  label: string;
  question: string;
  yes: string;
  children?: ReactNode;
  disabled?: boolean;
  onYes: () => void;
}

/** A button that asks before it does what cannot be taken back. */
export function Confirm({ label, question, yes, children, disabled, onYes }: Props) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button size="xs" variant="default" onClick={open} disabled={disabled ?? false}>
        {children ?? label}
      </Button>
      <Modal opened={opened} onClose={close} title={label} centered closeButtonProps={{ "aria-label": "Close" }}>
        <Text size="sm">{question}</Text>
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={close}>
            No
          </Button>
          <Button
            color="red"
            onClick={() => {
              close();
              onYes();
            }}
          >
            {yes}
          </Button>
        </Group>
      </Modal>
    </>
  );
}
