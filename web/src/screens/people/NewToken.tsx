import { Button, Code, CopyButton, Group, Modal, Stack, Text } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

/** The text of a token that was just made: it is shown here once, and nowhere else. */
export function NewToken({ text, close }: { text: string; close: () => void }) {
  return (
    <Modal opened onClose={close} title="The new token" closeButtonProps={{ "aria-label": "Close" }} closeOnClickOutside={false}>
      <Stack>
        <Text>Copy it now. It is shown only once. Anyone with it can act as its user.</Text>
        <Code block data-token style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
          {text}
        </Code>
        <Group justify="flex-end">
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy} leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}>
                {copied ? "Copied" : "Copy"}
              </Button>
            )}
          </CopyButton>
          <Button onClick={close}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
