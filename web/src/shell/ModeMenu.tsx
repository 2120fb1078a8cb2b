import "@mantine/core/styles/Menu.css";
import "@mantine/core/styles/Popover.css";
import { Button, Menu, Text } from "@mantine/core";
import { IconCheck, IconChevronDown, IconShield, IconShieldOff } from "@tabler/icons-react";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, body } from "../api/client";

export const modeQuery = queryOptions({
  queryKey: ["mode"],
  queryFn: () => body(api.GET("/mode")),
  refetchInterval: 15_000,
});

const CHOICES = [
  { name: "off", label: "Off", detail: "Agents may do the work themselves." },
  { name: "guidance", label: "Guidance", detail: "Rules advise instead of refusing." },
  { name: "strict", label: "Strict", detail: "The main agent must delegate." },
] as const;
type Choice = (typeof CHOICES)[number]["name"];

/** The orchestrator mode in force for whoever is signed in, and a menu that changes it for them. The API says who may. */
export function ModeMenu({ opened, setOpened }: { opened: boolean; setOpened: (opened: boolean) => void }) {
  const { data: mode } = useQuery(modeQuery);
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async (choice: Choice | "inherit") => {
      if (choice === "inherit") return body(api.DELETE("/mode", { params: { query: { scope: "user" } } }));
      const level = choice === "off" ? "guidance" : choice;
      const setting = { scope: "user", id: "", user: "", project: "", locked: false, reason: "" } as const;
      return body(api.PUT("/mode", { body: { ...setting, enabled: choice !== "off", level } }));
    },
    onSuccess: () => Promise.all([queries.invalidateQueries({ queryKey: ["mode"] }), queries.invalidateQueries({ queryKey: ["modes"] })]),
  });
  if (!mode) return null;
  const now: Choice = mode.enabled ? mode.level : "off";
  const Icon = mode.enabled ? IconShield : IconShieldOff;
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={260} closeOnItemClick={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<Icon size={16} aria-hidden />} rightSection={<IconChevronDown size={14} aria-hidden />}>
          <span className="narrow-hidden">Mode:&nbsp;</span>
          {now}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Mode for you, set by: {mode.chain.at(-1)?.scope.replace("_", " in ") ?? "nobody"}</Menu.Label>
        {CHOICES.map(({ name, label, detail }) => (
          <Menu.Item
            key={name}
            onClick={() => change.mutate(name)}
            disabled={change.isPending}
            rightSection={name === now ? <IconCheck size={16} aria-label="in force" /> : null}
          >
            {label}
            <Text size="xs" c="dimmed">
              {detail}
            </Text>
          </Menu.Item>
        ))}
        {mode.chain.some(({ scope }) => scope === "user") && (
          <Menu.Item onClick={() => change.mutate("inherit")} disabled={change.isPending}>
            Remove my setting
          </Menu.Item>
        )}
        {change.error && (
          <Menu.Label c="var(--deny)" aria-live="assertive">
            {change.error.message}
          </Menu.Label>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
