import "@mantine/core/styles/Modal.css";
import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";

interface Props {
  title: string;
  submit: string;
  /** Do it; what it throws is shown, and the dialog stays. */
  run: () => Promise<unknown>;
  /** The beginnings of the query keys that are loaded again afterwards. */
  changes: readonly string[];
  close: () => void;
  disabled?: boolean;
  color?: string;
  children?: ReactNode;
}

/** A dialog with a form: it says why something was refused, and closes when it is done. */
export function FormDialog({ title, submit, run, changes, close, disabled = false, color = "blue", children }: Props) {
  const queries = useQueryClient();
  const action = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      await Promise.all(changes.map((key) => queries.invalidateQueries({ queryKey: [key] })));
      close();
    },
  });
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          action.mutate();
        }}
      >
        <Stack>
          {children}
          {action.error && (
            <Alert color="red" variant="outline" role="alert">
              {action.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" color={color} loading={action.isPending} disabled={disabled}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
