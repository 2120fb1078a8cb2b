import { Title } from "@mantine/core";
import { RecordTable } from "../../parts/RecordTable";
import { State } from "../../parts/State";
import { moment, relative } from "../../parts/time";
import type { Status } from "./queries";

/** Whether a client's hooks work, as far as the server can tell. */
function HookState({ one }: { one: Status["clients"][number] }) {
  if (one.client === "api") return <State is="idle">none: it calls the API directly</State>;
  if (!one.last_seen) return <State is="bad">installed {relative(one.installed_at ?? "")}, never heard of; run `baton doctor` there</State>;
  return one.silent ? <State is="bad">silent while its user works; run `baton doctor` there</State> : <State is="good">installed</State>;
}

/** Whose client has a hook that works, when it was last heard of, and which runners there are. */
export function Clients({ clients, runners }: { clients: Status["clients"]; runners: Status["runners"] }) {
  return (
    <>
      <section className="panel" aria-label="Hooks by client">
        <Title order={2} mb="xs">
          Hooks by client
        </Title>
        <RecordTable
          label="Hooks by client"
          rows={clients}
          id={(one) => `${one.user} ${one.client}`}
          empty="No client has called yet. Run `baton hooks install` in a project."
          columns={[
            { name: "Client", cell: (one) => <b>{one.client}</b> },
            { name: "User", cell: (one) => one.user },
            {
              name: "Hook",
              cell: (one) =>
<HookState one={one} />,
            },
            { name: "Last heard", cell: (one) => (one.last_seen ? <span title={moment(one.last_seen)}>{relative(one.last_seen)}</span> : "never") },
            { name: "Protocol", cell: (one) => one.protocol ?? "none" },
          ]}
        />
      </section>
      <section className="panel" aria-label="Runners">
        <Title order={2} mb="xs">
          Runners
        </Title>
        <RecordTable
          label="Runners"
          rows={runners}
          id={(one) => one.id}
          empty="No runner. Delegated jobs need one: `baton runner install` on a developer's machine."
          columns={[
            { name: "Runner", cell: (one) => <b>{one.name}</b> },
            { name: "User", cell: (one) => one.user },
            { name: "Works on", cell: (one) => `${one.active} of ${one.slots}` },
            { name: "Version", cell: (one) => one.version },
            { name: "Seen", cell: (one) => <span title={moment(one.last_seen)}>{relative(one.last_seen)}</span> },
          ]}
        />
      </section>
    </>
  );
}
