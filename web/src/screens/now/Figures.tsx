import { SimpleGrid } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { today } from "../../parts/time";
import { useQuestions } from "../../parts/question/queries";
import { useLiveSessions, useToday } from "./queries";

/** What happens now and happened today, each number a link to the list that it counts. */
export function Figures({ tick }: { tick: number }) {
  const day = today();
  const counts = useToday(day, tick);
  const live = useLiveSessions();
  const waiting = useQuestions();
  const ignored = counts.ignored ? ` (and ${counts.ignored} ignored a change)` : "";
  return (
    <SimpleGrid cols={{ base: 2, sm: 5 }} component="section" aria-label="Counts">
      <Link to="/sessions" search={{ live: true }} className="panel figure-link">
        <Number of={live.data?.count} more={live.data?.more ?? false} />
        live sessions
      </Link>
      <Link to="/waiting" className="panel figure-link">
        <Number of={waiting.data?.length} />
        waiting for a person
      </Link>
      <Link to="/decisions" search={{ effect: "deny", since: day }} className="panel figure-link">
        <Number of={counts.refused} />
        refused today
      </Link>
      <Link to="/decisions" search={{ effect: "shadow", since: day }} className="panel figure-link">
        <Number of={counts.would} />
        would have been refused
      </Link>
      <Link to="/decisions" search={{ outcome: "ran_anyway", since: day }} className={counts.ranAnyway ? "panel figure-link alarm" : "panel figure-link"}>
        <Number of={counts.ranAnyway} />
        <span role={counts.ranAnyway ? "alert" : undefined}>ran although refused{ignored}</span>
      </Link>
    </SimpleGrid>
  );
}

function Number({ of, more = false }: { of: number | undefined; more?: boolean }) {
  return (
    <div className="figure">
      {of === undefined ? "–" : of.toLocaleString()}
      {more && "+"}
    </div>
  );
}
