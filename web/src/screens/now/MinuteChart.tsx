import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { WORDS } from "./Chart";
import { BANDS, type Counts } from "./tally";

const HEIGHT = 160;
const COLORS = { allowed: "--allow", rewritten: "--rewrite", asked: "--ask", refused: "--deny" };
type Minute = Counts & { at: number };

/** Stacked bars of the calls of each minute. uPlot draws over each other, so the highest sum comes first. */
export function MinuteChart({ minutes }: { minutes: readonly Minute[] }) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const latest = useRef(minutes);
  latest.current = minutes;

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const css = getComputedStyle(element); // a canvas knows no variables
    const color = (name: string) => css.getPropertyValue(name).trim();
    const bars = uPlot.paths.bars?.({ size: [0.8, 16] });
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const stack = [...BANDS].reverse();
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
        axes: [axis, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] }],
        series: [
          {},
          ...stack.map((band) => ({
            label: WORDS[band],
            fill: color(COLORS[band]),
            stroke: color(COLORS[band]),
            width: 0,
            points: { show: false },
            ...(bars ? { paths: bars } : {}),
          })),
        ],
      },
      stacked(latest.current),
      element,
    );
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, []);

  useEffect(() => chart.current?.setData(stacked(minutes)), [minutes]);

  const all = minutes.reduce((sum, minute) => sum + BANDS.reduce((one, band) => one + minute[band], 0), 0);
  return (
    <>
      <div ref={place} role="img" aria-label={`${all.toLocaleString()} calls in the last hour; the table has them by minute`} />
      <ul className="legend">
        {BANDS.map((band) => (
          <li key={band}>
            <span style={{ background: `var(${COLORS[band]})` }} aria-hidden /> {WORDS[band]}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The series of a stack: of each band the sum with those below it, the top one first. */
function stacked(minutes: readonly Minute[]): uPlot.AlignedData {
  const sums = BANDS.map((_, top) => minutes.map((minute) => BANDS.slice(0, top + 1).reduce((sum, band) => sum + minute[band], 0)));
  return [minutes.map(({ at }) => at / 1000), ...sums.reverse()];
}
