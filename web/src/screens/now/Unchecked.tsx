import { useQuery } from "@tanstack/react-query";
import { State } from "../../parts/State";
import { relative } from "../../parts/time";
import { uncheckedQuery } from "./queries";

/** Clients that run on the server's machine while their hooks are silent. */
export function Unchecked() {
  const { data } = useQuery(uncheckedQuery);
  if (!data?.length) return null;
  return (
    <section className="panel" aria-label="Unchecked clients">
      {data.map((one) => (
        <div key={one.pid}>
          <State is="bad">
            {one.client} (process {one.pid}, started {relative(one.started_at)}) runs unchecked: {one.why}; run `baton hooks status`
          </State>
        </div>
      ))}
    </section>
  );
}
