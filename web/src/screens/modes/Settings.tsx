import { Button, Group, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api, body, type Schemas } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { Pick } from "../../parts/Pick";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { type Column, RecordTable } from "../../parts/RecordTable";
import { State } from "../../parts/State";
import { moment } from "../../parts/time";
import { useMaking } from "../../parts/making";
import { modeInForceQuery, modesQuery, type Setting, SCOPES } from "./queries";
import { SettingForm } from "./SettingForm";

const route = getRouteApi("/shell/modes");
type AnySetting = Schemas["ModeSettingModel"];
const COLUMNS: readonly Column<AnySetting>[] = [
  { name: "Scope", cell: (one) => one.scope.replace("_", " in ") },
  { name: "Whose", cell: whose },
  { name: "Mode", cell: (one) => <State is={one.enabled ? "good" : "idle"}>{one.enabled ? one.level : "off"}</State> },
  { name: "Why", cell: (one) => [one.locked ? "locked" : "", one.auto_activated ? "set by work items" : "", one.reason].filter(Boolean).join(" · ") || "—" },
  { name: "Set", cell: (one) => [one.set_by, one.set_at && moment(one.set_at)].filter(Boolean).join(", ") || "—" },
  { name: "Until", cell: (one) => (one.expires_at ? moment(one.expires_at) : "—") },
];

function whose(one: AnySetting): string {
  return one.id || [one.user, one.project].filter(Boolean).join(" in ") || "everybody";
}

/** The mode in force for whoever is asked for, with the chain that led to it, and every setting that there is. */
export function Settings() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const asked = { session_id: search.session_id ?? "", project: search.project ?? "", user: search.user ?? "" };
  const scope = SCOPES.find((one) => one === search.scope);
  const me = useQuery(meQuery);
  const inForce = useQuery(modeInForceQuery(asked));
  const settings = useInfiniteQuery(modesQuery(scope));
  const [setting, setSetting] = useMaking(search.make, () => void navigate({ search: { ...search, make: undefined }, replace: true }));
  const [removing, setRemoving] = useState<Setting>();
  const find = (name: string, value: string) => void navigate({ search: (before) => ({ ...before, [name]: value || undefined }), replace: true });
  const mode = inForce.data;
  return (
    <Stack gap="lg">
      <section className="panel" aria-label="Mode in force">
        <Title order={2} mb="xs">
          In force
        </Title>
        <Group role="search" align="end" mb="sm">
          {(["user", "project", "session"] as const).map((kind) => {
            const name = kind === "session" ? "session_id" : kind;
            return (
              <Pick key={kind} kind={kind} label={`${kind[0]?.toUpperCase()}${kind.slice(1)}`} value={asked[name]} onChange={(value) => find(name, value)} placeholder={kind === "user" ? me.data?.user : "any"} />
            );
          })}
        </Group>
        <Failed error={inForce.error} again={() => void inForce.refetch()} />
        {mode && (
          <>
            <Text mb="xs">
              <State is={mode.enabled ? "good" : "idle"}>{mode.enabled ? `On, ${mode.level}` : "Off"}</State>
              {mode.chain.length > 0 ? " – from wide to narrow. The last one applies:" : " – not set."}
            </Text>
            {mode.chain.length > 0 && (
              <RecordTable label="Chain of settings" columns={COLUMNS} rows={mode.chain} id={(one) => `${one.scope} ${whose(one)}`} empty="" />
            )}
          </>
        )}
      </section>
      <section className="panel" aria-label="All settings">
        <Group justify="space-between" align="end" mb="sm">
          <NativeSelect
            label="Settings at"
            data={[{ value: "", label: "every scope" }, ...SCOPES.map((one) => ({ value: one, label: one.replace("_", " in ") }))]}
            value={scope ?? ""}
            onChange={(event) => find("scope", event.currentTarget.value)}
          />
          <Button onClick={() => setSetting(true)}>Set a mode</Button>
        </Group>
        <Failed error={settings.error} again={() => void settings.refetch()} />
        {settings.isSuccess && (
          <RecordTable
            label="Settings"
            columns={COLUMNS}
            rows={settings.data.pages.flatMap((page) => page.items)}
            id={(one) => `${one.scope} ${whose(one)}`}
            empty="No mode is set. Set one, or run `baton mode enable` in a project."
            actions={(one) => (
              <Button size="xs" variant="default" onClick={() => setRemoving(one)} aria-label={`Remove: ${one.scope} ${whose(one)}`}>
                Remove
              </Button>
            )}
          />
        )}
        {settings.hasNextPage && (
          <Button variant="default" onClick={() => void settings.fetchNextPage()}>
            Show more
          </Button>
        )}
      </section>
      {setting && <SettingForm close={() => setSetting(false)} />}
      {removing && (
        <ReasonDialog
          title="Remove this setting?"
          text={`The mode at ${removing.scope.replace("_", " in ")} (${whose(removing)}) is removed. Wider settings apply again.`}
          submit="Remove"
          changes={["mode", "modes"]}
          close={() => setRemoving(undefined)}
          run={(reason) => {
            const { scope: at, id, user, project, etag } = removing;
            const query = { scope: at, reason, ...(id && { id }), ...(user && { user }), ...(project && { project }) };
            return body(api.DELETE("/mode", { params: { query, header: { "If-Match": etag } } }));
          }}
        />
      )}
    </Stack>
  );
}
