import { Button, Group, NativeSelect, Stack, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, body, type Schemas } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { RecordTable } from "../../parts/RecordTable";
import { projectsQuery, teamsQuery } from "./queries";

type Team = Schemas["TeamModel"];
type Project = Schemas["ListedProjectModel"];

/** The teams, what each wants for itself, and which projects it answers for. */
export function Teams() {
  const teams = useQuery(teamsQuery);
  const projects = useQuery(projectsQuery);
  const [team, setTeam] = useState<Team | "new">();
  const [project, setProject] = useState<Project | "new">();
  return (
    <Stack>
      <section className="panel" aria-label="Teams">
        <Group justify="space-between" mb="sm">
          <Title order={2}>Teams</Title>
          <Button onClick={() => setTeam("new")}>Add a team</Button>
        </Group>
        <Failed error={teams.error} again={() => void teams.refetch()} />
        {teams.isSuccess && (
          <RecordTable
            label="Teams"
            rows={teams.data.items}
            id={(one) => one.name}
            empty="No team exists."
            columns={[
              { name: "Name", cell: (one) => <b>{one.name}</b> },
              { name: "Prompts", cell: (one) => (one.keep_prompts ? "kept, secrets masked" : "not kept") },
              {
                name: "People",
                cell: (one) => (
                  <Link to="/people" search={{ tab: "users", team: one.name }}>
                    Show
                  </Link>
                ),
              },
            ]}
            actions={(one) => (
              <Button size="xs" variant="default" onClick={() => setTeam(one)} aria-label={`Change team ${one.name}`}>
                Change
              </Button>
            )}
          />
        )}
      </section>
      <section className="panel" aria-label="Projects">
        <Group justify="space-between" mb="sm">
          <Title order={2}>Projects</Title>
          <Button onClick={() => setProject("new")}>Give a project to a team</Button>
        </Group>
        <Failed error={projects.error} again={() => void projects.refetch()} />
        {projects.isSuccess && (
          <RecordTable
            label="Projects"
            rows={projects.data.items}
            id={(one) => one.name}
            empty="No team owns a project yet. The owner may set the project's mode and rules."
            columns={[
              { name: "Project", cell: (one) => one.name },
              { name: "Team", cell: (one) => one.team },
            ]}
            actions={(one) => (
              <Button size="xs" variant="default" onClick={() => setProject(one)} aria-label={`Change project ${one.name}`}>
                Change
              </Button>
            )}
          />
        )}
      </section>
      {team && <TeamForm team={team === "new" ? undefined : team} close={() => setTeam(undefined)} />}
      {project && (
        <ProjectForm project={project === "new" ? undefined : project} teams={teams.data?.items.map(({ name }) => name) ?? []} close={() => setProject(undefined)} />
      )}
    </Stack>
  );
}

function TeamForm({ team, close }: { team: Team | undefined; close: () => void }) {
  const [name, setName] = useState("");
  const [keep, setKeep] = useState(team?.keep_prompts ?? false);
  const [reason, setReason] = useState("");
  const run = () =>
    team
      ? body(api.PUT("/teams/{name}/settings", { params: { path: { name: team.name } }, body: { keep_prompts: keep, reason } }))
      : body(api.PUT("/teams/{name}", { params: { path: { name: name.trim() } }, body: { reason } }));
  return (
    <FormDialog title={team ? `Change team ${team.name}` : "Add a team"} submit={team ? "Change" : "Add"} run={run} changes={["teams"]} close={close}>
      {team ? (
        <NativeSelect
          label="Prompts"
          data={[
            { value: "", label: "Not kept" },
            { value: "keep", label: "Kept with the decisions, secrets masked" },
          ]}
          value={keep ? "keep" : ""}
          onChange={(event) => setKeep(event.currentTarget.value !== "")}
        />
      ) : (
        <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      )}
      <TextInput label="Why" description="Kept in the audit log." value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
    </FormDialog>
  );
}

function ProjectForm({ project, teams, close }: { project: Project | undefined; teams: string[]; close: () => void }) {
  const [name, setName] = useState(project?.name ?? "");
  const [team, setTeam] = useState(project?.team ?? teams[0] ?? "");
  const [reason, setReason] = useState("");
  const run = () =>
    body(api.PUT("/projects", { params: { header: { "If-Match": project?.etag ?? null } }, body: { name: name.trim(), team, reason } }));
  return (
    <FormDialog title="Team of a project" submit="Set" run={run} changes={["projects"]} close={close}>
      <TextInput label="Project" required readOnly={Boolean(project)} placeholder="github.com/acme/shop" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <NativeSelect label="Team" data={teams} value={team} onChange={(event) => setTeam(event.currentTarget.value)} />
      <TextInput label="Why" description="Kept in the audit log." value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
    </FormDialog>
  );
}
