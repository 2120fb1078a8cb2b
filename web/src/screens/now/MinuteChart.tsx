import { useMemo } from "react";
import { Chart, type Series } from "../../parts/Chart";
import { clock, during } from "../../parts/time";
import { useMinutes } from "./queries";
import { BANDS, type Band } from "./tally";

const WORDS: Record<Band, string> = { allowed: "Allowed", rewritten: "Rewritten", asked: "Asked", refused: "Refused" };
const COLOURS: Record<Band, Series["colour"]> = { allowed: "allow", rewritten: "rewrite", asked: "ask", refused: "deny" };
const minuteOf = (at: string) => clock(at).slice(0, 5);
const whole = (value: number) => value.toLocaleString();

/** The calls of the last hour by minute; `tick` changes when they should be read again. */
export function MinuteChart({ tick }: { tick: number }) {
  const { minutes, error, again } = useMinutes(tick);
  const newest = minutes.at(-1)?.at;
  const x = useMemo(() => minutes.map(({ at }) => new Date(at).toISOString()), [newest]); // the same hour, once a minute
  const series = BANDS.map((band): Series => ({ name: WORDS[band], colour: COLOURS[band], values: minutes.map((minute) => minute[band]) }));
  return <Chart title="Calls by minute" x={x} shown={minuteOf} xName="Minute" series={series} kind="bars" format={whole} whole error={error} again={again} empty="" details={(at) => during(at, 60)} />;
}
