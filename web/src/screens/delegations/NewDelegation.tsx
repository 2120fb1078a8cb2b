import "@mantine/core/styles/NumberInput.css";
import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/InlineInput.css";
import { Alert, Autocomplete, Button, Checkbox, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body, type Schemas } from "../../api/client";
import { agentName } from "../../parts/agents";
import { Failed } from "../../parts/Failed";
import { runnersQuery } from "./queries";

const route = getRouteApi("/shell/delegations/new");
type Body = Schemas["DelegateBody"];
const DEFAULTS = { approval: "none", concurrent: false, description: "", graph: "", max_attempts: 1, model: "", session_id: "" } as const;

/** The form that delegates: everything that `POST /delegate` takes. */
export function NewDelegation() {
  const given = route.useSearch();
  const navigate = useNavigate();
  const runners = useQuery(runnersQuery);
  const [task, setTask] = useState<Body>({
    ...DEFAULTS,
    user_prompt: "",
    provider: given.provider ?? "",
    workspace: given.workspace ?? "",
    thread: given.thread ?? "continue",
    isolation: "worktree",
    depends_on: given.depends_on ? [given.depends_on] : [],
  });
  const set = <K extends keyof Body>(name: K) => (value: Body[K]) => setTask((before) => ({ ...before, [name]: value }));
  const send = useMutation({
    mutationFn: () => body(api.POST("/delegate", { body: { ...task, provider: task.provider || null } })),
    onSuccess: ({ job }) => void navigate({ to: "/delegations/$job", params: { job: job.id } }),
  });
  const served = runners.data?.items ?? [];
  const providers = [...new Set(served.flatMap((one) => one.providers))].sort();
  const workspaces = [...new Set(served.filter((one) => !task.provider || one.providers.includes(task.provider)).flatMap((one) => one.workspaces))].sort();
  return (
    <Stack gap="md" maw={760} component="form" onSubmit={(event) => (event.preventDefault(), send.mutate())}>
      <Title order={1}>Delegate a task</Title>
      {runners.isSuccess && served.length === 0 && (
        <Alert variant="outline" color="yellow" styles={{ title: { color: "var(--ask)" } }} title="No runner of yours is known">
          A task waits in its queue until one takes it. Start one on your machine: <code>baton runner init</code>, then <code>baton runner run</code>.
        </Alert>
      )}
      <Textarea label="Task" description="The exact instruction for the agent." required autosize minRows={4} maxRows={20} value={task.user_prompt} onChange={(event) => set("user_prompt")(event.currentTarget.value)} />
      <TextInput label="Title" description="One line for people." value={task.description ?? ""} onChange={(event) => set("description")(event.currentTarget.value)} />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NativeSelect
          label="Agent"
          data={[{ value: "", label: "The thread's, else Codex" }, ...providers.map((name) => ({ value: name, label: agentName(name) }))]}
          value={task.provider ?? ""}
          onChange={(event) => set("provider")(event.currentTarget.value)}
        />
        <NativeSelect
          label="Workspace"
          data={[{ value: "", label: "The runner's first" }, ...workspaces]}
          value={task.workspace ?? ""}
          onChange={(event) => set("workspace")(event.currentTarget.value)}
        />
        <NativeSelect
          label="Isolation"
          data={[
            { value: "worktree", label: "In a worktree: you apply its changes" },
            { value: "in_place", label: "In place: it changes your files" },
          ]}
          value={task.isolation ?? "in_place"}
          onChange={(event) => set("isolation")(event.currentTarget.value as "in_place" | "worktree")}
        />
        <TextInput label="Model" placeholder="The agent's own" value={task.model ?? ""} onChange={(event) => set("model")(event.currentTarget.value)} />
        <Autocomplete label="Thread" description="continue, fresh, or the id of an ended job" data={["continue", "fresh"]} value={task.thread ?? "continue"} onChange={set("thread")} />
        <TextInput label="Session" description="Whose thread and mode it has" placeholder="One of its own" value={task.session_id ?? ""} onChange={(event) => set("session_id")(event.currentTarget.value)} />
      </SimpleGrid>
      <details>
        <summary>Limits and order</summary>
        <SimpleGrid cols={{ base: 1, sm: 2 }} mt="sm">
          <Seconds label="Timeout" value={task.timeout_s} set={set("timeout_s")} />
          <Seconds label="Inactivity timeout" value={task.inactivity_timeout_s} set={set("inactivity_timeout_s")} />
          <Seconds label="Expires in the queue after" value={task.queue_expiry_s} set={set("queue_expiry_s")} />
          <NumberInput label="Attempts" description="Above 1 only in a worktree" min={1} max={10} value={task.max_attempts ?? 1} onChange={(value) => set("max_attempts")(Number(value) || 1)} />
          <TextInput
            label="After these jobs"
            description="Ids, separated by spaces"
            defaultValue={task.depends_on?.join(" ")}
            onChange={(event) => set("depends_on")(event.currentTarget.value.split(/[\s,]+/).filter(Boolean))}
          />
          <TextInput label="Task graph" value={task.graph ?? ""} onChange={(event) => set("graph")(event.currentTarget.value)} />
        </SimpleGrid>
        <Stack gap="xs" mt="sm">
          <Checkbox label="Wait for a person's approval before it starts" checked={task.approval === "ask"} onChange={(event) => set("approval")(event.currentTarget.checked ? "ask" : "none")} />
          <Checkbox label="Work in place even if another job works in the same folder" checked={task.concurrent ?? false} onChange={(event) => set("concurrent")(event.currentTarget.checked)} />
        </Stack>
      </details>
      <Failed error={send.error} again={() => send.mutate()} />
      <Group>
        <Button type="submit" loading={send.isPending} disabled={!task.user_prompt.trim()}>
          Delegate
        </Button>
      </Group>
    </Stack>
  );
}

function Seconds({ label, value, set }: { label: string; value: number | null | undefined; set: (value: number | null) => void }) {
  return <NumberInput label={label} suffix=" s" min={0} placeholder="The server's default" value={value ?? ""} onChange={(value) => set(value === "" ? null : Number(value))} />;
}
