import { Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../../api/queries";
import { RecordTable } from "../../parts/RecordTable";
import { ROLES } from "./queries";

const REACH: Record<string, string> = { own: "your own", team: "your team's", organisation: "everybody's", job: "the job's" };

/** What each role is for, and what the role of whoever is signed in may do. */
export function Roles() {
  const me = useQuery(meQuery);
  const rights = Object.entries(me.data?.rights ?? {}).sort();
  return (
    <Stack>
      <section className="panel" aria-label="Roles">
        <RecordTable
          label="Roles"
          rows={Object.entries(ROLES)}
          id={([name]) => name}
          empty=""
          columns={[
            { name: "Role", cell: ([name]) => <b>{name === me.data?.role ? `${name} (you)` : name}</b> },
            { name: "For", cell: ([, text]) => text },
          ]}
        />
      </section>
      <section className="panel" aria-label="Your rights">
        <Title order={2} mb="xs">
          Your rights
        </Title>
        <RecordTable
          label="Your rights"
          rows={rights}
          id={([name]) => name}
          empty="Nothing."
          columns={[
            { name: "Right", cell: ([name]) => <span className="mono">{name}</span> },
            { name: "Reaches", cell: ([, reach]) => REACH[reach] ?? reach },
          ]}
        />
      </section>
    </Stack>
  );
}
