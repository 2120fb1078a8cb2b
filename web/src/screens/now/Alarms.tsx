import { useQuery } from "@tanstack/react-query";
import { State } from "../../parts/State";
import { relative } from "../../parts/time";
import { alarmsQuery } from "./queries";

/** Clients that run on the server's machine while their hooks are silent, requests that reached nobody, and freezes. */
export function Alarms() {
  const { data } = useQuery(alarmsQuery);
  if (!data || data.unchecked.length + data.unreached.length + data.freezes.length === 0) return null;
  return (
    <section className="panel" aria-label="Alarms">
      {data.unchecked.map((one) => (
        <div key={one.pid}>
          <State is="bad">
            {one.client} (process {one.pid}, started {relative(one.started_at)}) runs unchecked: {one.why}; run `baton hooks status`
          </State>
        </div>
      ))}
      {data.freezes.map((one) => (
        <div key={one}>
          <State is="bad">Frozen: {one}</State>
        </div>
      ))}
      {data.unreached.map((one) => (
        <div key={one}>
          <State is="bad">Nobody was told of request {one}</State>
        </div>
      ))}
    </section>
  );
}
