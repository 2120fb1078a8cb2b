import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { day, hour } from "./time";

const HEIGHT = 200;
const BAR_SHARE = 0.7;
const WIDEST_BAR = 48;
const NAME_SIZE = 74;
const DAY_S = 86_400;
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000];

/** One line, or one part of each bar; `colour` is a token of the theme. */
export interface Series {
  name: string;
  colour: "accent" | "allow" | "ask" | "deny" | "rewrite" | "shadow";
  values: readonly (number | null)[];
}

interface PlotProps {
  /** Seconds since 1970, or the names of groups. */
  x: readonly number[] | readonly string[];
  series: readonly Series[];
  kind: "lines" | "bars";
  format: (value: number) => string;
  /** Whether values are counts, which no line of the grid may divide. */
  whole: boolean;
  label: string;
  /** Open what is behind a place. */
  open?: (at: number) => void;
}

/** A chart by uPlot, in the theme's colours; new figures are drawn into it, other axes or colours make another one. */
export function Plot({ x, series, kind, format, whole, label, open }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<uPlot>(undefined);
  const latest = useRef({ x, series, open });
  latest.current = { x, series, open };
  const scheme = useComputedColorScheme("light");
  // All that the options are made of, besides the figures themselves.
  const shape = JSON.stringify([isNamed(x) ? x : [areDays(x), x.length], series.map(({ name, colour }) => [name, colour])]);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const { x, series } = latest.current;
    const chart = new uPlot(options(element.clientWidth, { x, series, kind, format, whole }), data(x, series, kind), element);
    made.current = chart;
    chart.over.addEventListener("click", ({ offsetX }) => latest.current.open?.(chart.posToIdx(offsetX)));
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
      made.current = undefined;
    };
  }, [shape, kind, format, whole, scheme]);
  useEffect(() => made.current?.setData(data(x, series, kind)), [x, series, kind]);
  return <div ref={host} role="img" aria-label={label} style={{ height: HEIGHT, minWidth: 0, overflow: "hidden", cursor: open && "pointer" }} />;
}

const isNamed = (x: readonly number[] | readonly string[]): x is readonly string[] => typeof x[0] === "string";
const areDays = (x: readonly number[]) => x.every((at) => at % DAY_S === 0);

/** Bars stand on each other, so each holds the sum up to it, and the largest is drawn first. */
function data(x: PlotProps["x"], series: readonly Series[], kind: PlotProps["kind"]): uPlot.AlignedData {
  const places = isNamed(x) ? x.map((_, index) => index) : [...x];
  if (kind === "lines") return [places, ...series.map(({ values }) => [...values])];
  const sums = series.map((_, last) => places.map((_, at) => series.slice(0, last + 1).reduce((sum, one) => sum + (one.values[at] ?? 0), 0)));
  return [places, ...sums.reverse()];
}

function options(width: number, { x, series, kind, format, whole }: Omit<PlotProps, "label" | "open">): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (token: string) => style.getPropertyValue(`--${token}`).trim();
  const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, WIDEST_BAR] });
  const drawn = kind === "bars" ? [...series].reverse() : series;
  const named = isNamed(x) ? x : undefined;
  // Days are the API's, in UTC; hours are the reader's.
  const zone = !named && areDays(x as readonly number[]) ? "UTC" : undefined;
  const single = !named && x.length === 1;
  return {
    width,
    height: HEIGHT,
    ...(zone && { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1_000), "Etc/UTC") }),
    legend: { show: false },
    cursor: { show: false },
    // Half a bar of room on both sides. Of a single place uPlot itself would show years.
    scales: {
      x: { time: !named, ...((kind === "bars" || single) && { range: (_chart, least, most) => around(least, most, x.length) }) },
      y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      named
        ? { ...axis, grid: { show: false }, splits: () => named.map((_, at) => at), values: () => named.map(short), rotate: -30, size: NAME_SIZE }
        : {
            ...axis,
            grid: { show: false },
            ...(single && { splits: () => [...x] as number[] }),
            values: (_chart, ticks, _axis, _space, step) => ticks.map((at) => time(at, single && zone ? DAY_S : step, zone)),
          },
      { ...axis, size: 64, ...(whole && { incrs: WHOLE }), values: (_chart, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...drawn.map((one): uPlot.Series => ({
        label: one.name,
        stroke: colour(one.colour),
        ...(kind === "bars" ? { fill: colour(one.colour), width: 0, ...(bars && { paths: bars }), points: { show: false } } : { width: 2, points: { show: x.length < 40, size: 5 } }),
      })),
    ],
  };
}

function around(least: number, most: number, places: number): uPlot.Range.MinMax {
  if (places < 2) return [least - DAY_S / 2, least + DAY_S / 2];
  const half = (most - least) / (places - 1) / 2;
  return [least - half, most + half];
}

const short = (name: string) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

function time(at: number, step: number, timeZone: string | undefined): string {
  const iso = new Date(at * 1_000).toISOString();
  const shown = timeZone ? `${day(iso)} ${iso.slice(11, 16)}` : hour(iso);
  return step >= DAY_S ? shown.slice(5, 10) : shown.slice(11);
}
