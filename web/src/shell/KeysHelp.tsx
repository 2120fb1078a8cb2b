import "@mantine/core/styles/Kbd.css";
import "@mantine/core/styles/Modal.css";
import { Group, Kbd, Modal, SimpleGrid, Stack, Table, Title } from "@mantine/core";
import { type Key, keyGroups } from "../parts/keys";

const ALWAYS: Omit<Key, "run">[] = [
  { press: "Enter", label: "Open the focused item" },
  { press: "Esc", label: "Close the open item" },
];
const WORDS: Record<string, string> = { space: "Space", mod: /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl" };

/** All keys that work now, by screen. */
export function KeysHelp({ close }: { close: () => void }) {
  const groups = new Map<string, Omit<Key, "run">[]>();
  for (const { group, keys } of keyGroups()) groups.set(group, [...(groups.get(group) ?? []), ...keys]);
  const [first, ...rest] = [...groups];
  return (
    <Modal opened onClose={close} title="Keys" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <SimpleGrid cols={{ base: 1, sm: rest.length > 0 ? 2 : 1 }}>
        {first && <KeyTable group={first[0]} keys={[...first[1], ...ALWAYS]} />}
        <Stack>
          {rest.map(([group, keys]) => (
            <KeyTable key={group} group={group} keys={keys} />
          ))}
        </Stack>
      </SimpleGrid>
    </Modal>
  );
}

function KeyTable({ group, keys }: { group: string; keys: readonly Omit<Key, "run">[] }) {
  return (
    <section>
      <Title order={3}>{group}</Title>
      <Table aria-label={`Keys: ${group}`} verticalSpacing={4} withRowBorders={false}>
        <Table.Tbody>
          {keys.map(({ press, label }) => (
            <Table.Tr key={press}>
              <Table.Td w={110}>
                <Group gap={4} wrap="nowrap">
                  {press.split(/[ +](?=.)/).map((one, index) => (
                    <Kbd key={index}>{WORDS[one] ?? (press.startsWith("mod+") ? one.toUpperCase() : one)}</Kbd>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>{label}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
