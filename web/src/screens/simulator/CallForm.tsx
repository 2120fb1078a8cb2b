import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import type { Simulation } from "./search";

const LEVELS = [
  { value: "", label: "The mode in force" },
  { value: "off", label: "Off" },
  { value: "guidance", label: "Guidance" },
  { value: "strict", label: "Strict" },
];
const ROLES = ["", "developer", "lead", "admin", "runner", "auditor"].map((role) => ({ value: role, label: role || "Their own" }));

/** The call that is asked about, and for whom; `others` if the reader may ask for somebody else. */
export function CallForm({ asked, ask, others }: { asked: Simulation; ask: (call: Simulation) => void; others: boolean }) {
  const [call, setCall] = useState<Simulation>({ tool: "Bash", ...asked });
  const field = (name: keyof Simulation) => ({
    value: call[name] ?? "",
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setCall((before) => ({ ...before, [name]: value }));
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    ask(call);
  }
  return (
    <form onSubmit={submit} aria-label="The call" className="panel">
      <Stack gap="sm">
        <Textarea label="Command" description="For shell tools" classNames={{ input: "mono" }} autosize minRows={2} maxRows={12} {...field("command")} />
        <Group gap="sm" align="end">
          <TextInput label="Tool" required w={160} {...field("tool")} />
          <TextInput label="Other input, as JSON" placeholder='{"file_path": "src/a.py"}' classNames={{ input: "mono" }} style={{ flex: 1, minWidth: 220 }} {...field("input")} />
        </Group>
        <Group gap="sm" align="end">
          <NativeSelect label="Mode" data={LEVELS} {...field("level")} />
          <TextInput label="Tools called before" placeholder="Read, Grep" {...field("history")} />
          <TextInput label="Project" {...field("project")} />
          {others && <TextInput label="User" placeholder="you" w={130} {...field("user")} />}
          {others && <NativeSelect label="Role" data={ROLES} {...field("role")} />}
          <Button type="submit">Ask the rules</Button>
        </Group>
      </Stack>
    </form>
  );
}
