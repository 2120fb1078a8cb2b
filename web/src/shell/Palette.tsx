import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/Modal.css";
import { Combobox, Group, Modal, TextInput, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { destinationsQuery, matching, textQuery } from "./destinations";

/** Goes to a screen, an action, a person, a team, a session, a job, a rule or a call by a part of its name or text. */
export function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const known = useQuery(destinationsQuery);
  const router = useRouter();
  const combobox = useCombobox({ opened: true });
  const [typed] = useDebouncedValue(text.trim(), 200);
  const calls = useQuery({ ...textQuery(typed), enabled: typed.length > 2 });
  const found = [...matching(text, known.data ?? []), ...(text.trim() === typed && typed.length > 2 ? (calls.data ?? []) : [])];
  useEffect(() => {
    combobox.selectFirstOption();
  }, [text, known.data, calls.data]);

  function go(path: string) {
    close();
    router.history.push(`${router.basepath}${path}`);
  }

  return (
    <Modal opened onClose={close} title="Go to" closeButtonProps={{ "aria-label": "Close" }} yOffset="10vh">
      <Combobox store={combobox} onOptionSubmit={go}>
        <Combobox.EventsTarget>
          <TextInput
            data-autofocus
            aria-label="Go to"
            placeholder="A screen, an action, a person, a team, a rule, a session, a job, or a call's text"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </Combobox.EventsTarget>
        <Combobox.Options mt="xs" mah="50vh" style={{ overflowY: "auto" }} aria-label="Destinations">
          {found.map((one) => (
            <Combobox.Option key={`${one.kind} ${one.name} ${one.path}`} value={one.path}>
              <Group justify="space-between" wrap="nowrap">
                <span className="cut">
                  {one.name} <span className="muted">{one.detail}</span>
                </span>
                <span className="muted">{one.kind}</span>
              </Group>
            </Combobox.Option>
          ))}
          {found.length === 0 && <Combobox.Empty>{known.isFetching ? "Looking…" : "Nothing has this name."}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}
