import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/Modal.css";
import { Combobox, Group, Modal, TextInput, useCombobox } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { destinationsQuery, matching } from "./destinations";

/** Goes to a screen, a session, a job or a rule by a part of its name. */
export function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const known = useQuery(destinationsQuery);
  const router = useRouter();
  const combobox = useCombobox({ opened: true });
  const found = matching(text, known.data ?? []);
  useEffect(() => {
    combobox.selectFirstOption();
  }, [text, known.data]);

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
            placeholder="A screen, a session, a job, a rule"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </Combobox.EventsTarget>
        <Combobox.Options mt="xs" mah="50vh" style={{ overflowY: "auto" }} aria-label="Where to">
          {found.map((one) => (
            <Combobox.Option key={`${one.kind} ${one.name}`} value={one.path}>
              <Group justify="space-between" wrap="nowrap">
                <span className="cut">
                  {one.name} <span className="muted">{one.detail}</span>
                </span>
                <span className="muted">{one.kind}</span>
              </Group>
            </Combobox.Option>
          ))}
          {found.length === 0 && <Combobox.Empty>{known.isFetching ? "Looking…" : "Nothing has such a name."}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}
