import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Failed } from "../../parts/Failed";
import { RecordTable } from "../../parts/RecordTable";
import { rostersQuery } from "./queries";

/** The rosters that prompts can be routed over. */
export function Rosters() {
  const found = useQuery(rostersQuery);
  return (
    <div className="panel">
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.data && (
        <RecordTable
          label="Rosters"
          rows={found.data}
          id={(one) => one.name}
          empty="No roster. Push one: `baton roster push FOLDER`."
          columns={[
            {
              name: "Roster",
              cell: (one) => (
                <Link to="/rosters/$name" params={{ name: one.name }}>
                  {one.name}
                </Link>
              ),
            },
            { name: "From", cell: (one) => one.source },
            { name: "Agents", cell: (one) => one.agents },
            { name: "Description", cell: (one) => one.description },
          ]}
        />
      )}
    </div>
  );
}
