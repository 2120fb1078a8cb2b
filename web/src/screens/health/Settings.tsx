import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/InlineInput.css";
import { Checkbox, Group, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { RecordTable } from "../../parts/RecordTable";
import { settingsQuery } from "./queries";

const route = getRouteApi("/shell/health");

/** The settings that the server runs with; secrets are never among them. */
export function Settings() {
  const { all = false, setting = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery(settingsQuery);
  const rows = (found.data?.items ?? []).filter(
    (one) => (setting ? one.name.toLowerCase().includes(setting.toLowerCase()) : all || !one.is_default || one.is_secret),
  );
  return (
    <section className="panel" aria-label="Settings in force">
      <Title order={2} mb="xs">
        Settings in force
      </Title>
      <Group role="search" align="end" mb="sm">
        <TextInput
          label="Name"
          placeholder="BATON_…"
          value={setting}
          onChange={(event) => void navigate({ search: { all: all || undefined, setting: event.currentTarget.value || undefined }, replace: true })}
        />
        <Checkbox label="Defaults too" checked={all} onChange={(event) => void navigate({ search: { setting: setting || undefined, all: event.currentTarget.checked || undefined }, replace: true })} />
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Settings in force"
          rows={rows}
          id={(one) => one.name}
          empty={setting ? "No setting has this name." : "Every setting has its default."}
          columns={[
            { name: "Variable", cell: (one) => <span className="mono">{one.name}</span> },
            { name: "Value", cell: (one) => (one.is_secret ? <i>a secret</i> : <span className="mono">{one.value || "empty"}</span>) },
            { name: "Meaning", cell: (one) => <span className="muted">{one.description}</span> },
          ]}
        />
      )}
    </section>
  );
}
