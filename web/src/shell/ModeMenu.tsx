import "@mantine/core/styles/Menu.css";
import "@mantine/core/styles/Popover.css";
import { Button, Menu, Text } from "@mantine/core";
import { IconCheck, IconChevronDown, IconShield, IconShieldOff } from "@tabler/icons-react";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, body } from "../api/client";
import { many } from "../parts/figures";

export const modeQuery = queryOptions({
  queryKey: ["mode"],
  queryFn: () => body(api.GET("/mode")),
  refetchInterval: 15_000,
});

/** The settings that switch a mode on somewhere, as far as this person may see them. */
const enabledQuery = queryOptions({
  queryKey: ["modes", "enabled"],
  queryFn: async () => (await body(api.GET("/modes", { params: { query: { enabled: true, limit: 200 } } }))).items,
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
  const { data: settings } = useQuery(enabledQuery);
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
  const elsewhere = settings?.filter((one) => one.scope === "project" || one.scope === "user_project") ?? [];
  const others = (["strict", "guidance"] as const).flatMap((level) => {
    const projects = new Set(elsewhere.filter((one) => one.level === level).map((one) => one.project || one.id)).size;
    return projects > 0 ? [`${level} in ${many(projects, "project")}`] : [];
  });
  const shown = now === "off" && others.length > 0 ? others.join(", ") : [now, ...others].join(", ");
  const Icon = mode.enabled || others.length > 0 ? IconShield : IconShieldOff;
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={260} closeOnItemClick={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<Icon size={16} aria-hidden />} rightSection={<IconChevronDown size={14} aria-hidden />}>
          <span className="narrow-hidden">Mode:&nbsp;</span>
          <span className="cut mode">{shown}</span>
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
        {elsewhere.length > 0 && <Menu.Divider />}
        {elsewhere.slice(0, 8).map((one) => (
          <Menu.Item key={`${one.scope} ${one.id} ${one.user} ${one.project}`} renderRoot={(props) => <Link to="/modes" search={{ project: one.project || one.id }} {...props} />}>
            {one.level} in {one.project || one.id}
          </Menu.Item>
        ))}
        {change.error && (
          <Menu.Label c="var(--deny)" aria-live="assertive">
            {change.error.message}
          </Menu.Label>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
