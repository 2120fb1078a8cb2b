import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/InlineInput.css";
import { Button, Checkbox, Group, NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { ReasonDialog } from "../../parts/ReasonDialog";
import { RecordTable } from "../../parts/RecordTable";
import { State } from "../../parts/State";
import { moment } from "../../parts/time";
import { SIGN_IN_ROLES, teamsQuery, type User, usersQuery } from "./queries";

const route = getRouteApi("/shell/people");

/** The people of the directory: enter, move, disable, remove. */
export function Users() {
  const { team = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery(usersQuery(team));
  const teams = useQuery(teamsQuery);
  const [editing, setEditing] = useState<User | "new">();
  const [removing, setRemoving] = useState<User>();
  const names = teams.data?.items.map(({ name }) => name) ?? [];
  return (
    <section className="panel" aria-label="Users">
      <Group justify="space-between" align="end" mb="sm" role="search">
        <NativeSelect
          label="Team"
          data={[{ value: "", label: "every team" }, ...names]}
          value={team}
          onChange={(event) => void navigate({ search: { tab: "users", team: event.currentTarget.value || undefined }, replace: true })}
        />
        <Button onClick={() => setEditing("new")}>Add a user</Button>
      </Group>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <RecordTable
          label="Users"
          rows={found.data.pages.flatMap((page) => page.items)}
          id={(one) => one.name}
          empty="Only you so far. Add a user, or make a token for a new one."
          columns={[
            { name: "Name", cell: (one) => <b>{one.name}</b> },
            { name: "Team", cell: (one) => one.team },
            { name: "Role at sign-in", cell: (one) => <span title={one.account ?? "has not signed in with an account"}>{one.role}</span> },
            { name: "State", cell: (one) => (one.disabled_at ? <State is="bad">disabled {moment(one.disabled_at)}</State> : <State is="good">may work</State>) },
            { name: "Since", cell: (one) => moment(one.created_at) },
            {
              name: "More",
              cell: (one) => (
                <Group gap="sm">
                  <Link to="/people" search={{ tab: "tokens", user: one.name }}>
                    Tokens
                  </Link>
                  <Link to="/decisions" search={{ user: one.name }}>
                    Calls
                  </Link>
                </Group>
              ),
            },
          ]}
          actions={(one) => (
            <Group gap="xs" wrap="nowrap">
              <Button size="xs" variant="default" onClick={() => setEditing(one)} aria-label={`Change ${one.name}`}>
                Change
              </Button>
              <Button size="xs" variant="default" onClick={() => setRemoving(one)} aria-label={`Remove ${one.name}`}>
                Remove
              </Button>
            </Group>
          )}
        />
      )}
      {found.hasNextPage && (
        <Button variant="default" onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
      {editing && <UserForm user={editing === "new" ? undefined : editing} teams={names} close={() => setEditing(undefined)} />}
      {removing && (
        <ReasonDialog
          title={`Remove ${removing.name}?`}
          text="Their tokens are refused from now on. Their stored data is kept until you delete it."
          submit="Remove"
          changes={["users", "tokens", "browsers"]}
          close={() => setRemoving(undefined)}
          run={(reason) => body(api.DELETE("/users/{name}", { params: { path: { name: removing.name }, query: { reason } } }))}
        />
      )}
    </section>
  );
}

function UserForm({ user, teams, close }: { user: User | undefined; teams: string[]; close: () => void }) {
  const [name, setName] = useState(user?.name ?? "");
  const [team, setTeam] = useState(user?.team ?? teams[0] ?? "");
  const [role, setRole] = useState<(typeof SIGN_IN_ROLES)[number]>(SIGN_IN_ROLES.find((one) => one === user?.role) ?? "developer");
  const [forget, setForget] = useState(false);
  const [disabled, setDisabled] = useState(Boolean(user?.disabled_at));
  const [reason, setReason] = useState("");
  const run = () => body(api.PUT("/users/{name}", { params: { path: { name: name.trim() } }, body: { team, disabled, role, forget_account: forget, reason } }));
  return (
    <FormDialog title={user ? `Change ${user.name}` : "Add a user"} submit={user ? "Change" : "Add"} run={run} changes={["users", "teams", "browsers"]} close={close}>
      {!user && <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />}
      <NativeSelect label="Team" data={teams} value={team} onChange={(event) => setTeam(event.currentTarget.value)} />
      <NativeSelect
        label="Role at sign-in"
        description="Applies to company accounts. A token has its own role."
        data={SIGN_IN_ROLES}
        value={role}
        onChange={(event) => setRole(event.currentTarget.value as typeof role)}
      />
      {user?.account && (
        <Checkbox
          label="Forget their account"
          description={`${user.account} is signed out. The next account with this name to sign in becomes theirs.`}
          checked={forget}
          onChange={(event) => setForget(event.currentTarget.checked)}
        />
      )}
      <NativeSelect
        label="State"
        data={[
          { value: "", label: "May work" },
          { value: "disabled", label: "Disabled: all their tokens are refused" },
        ]}
        value={disabled ? "disabled" : ""}
        onChange={(event) => setDisabled(event.currentTarget.value !== "")}
      />
      <TextInput label="Why" description="Kept in the audit log." value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
    </FormDialog>
  );
}
