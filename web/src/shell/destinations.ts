import { queryOptions } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { viewsKept } from "../parts/keptViews";
import { when } from "../parts/time";
import { MENU } from "../screens/menu";

/** Where the palette can go; `path` is below `/ui`. */
export interface Destination {
  kind: string;
  name: string;
  detail: string;
  path: string;
}

const RECENT = 100;
const SHOWN = 12;
const has = (screen: string) => MENU.some(({ to }) => to === screen);

const screens = (): Destination[] => MENU.map(({ to, label }) => ({ kind: "Screen", name: label, detail: "", path: to }));

async function sessions(): Promise<Destination[]> {
  const page = await body(api.GET("/sessions", { params: { query: { limit: RECENT } } }));
  return page.items.map((one) => ({
    kind: "Session",
    name: one.session_id,
    detail: [one.user, one.project].filter(Boolean).join(" · "),
    path: has("/sessions") ? `/sessions/${encodeURIComponent(one.session_id)}` : `/decisions?session_id=${encodeURIComponent(one.session_id)}`,
  }));
}

async function jobs(): Promise<Destination[]> {
  const page = await body(api.GET("/jobs", { params: { query: { limit: RECENT } } }));
  return page.items.map((one) => ({
    kind: "Job",
    name: one.id,
    detail: one.title || one.state,
    path: `/delegations/${encodeURIComponent(one.id)}`,
  }));
}

async function rules(): Promise<Destination[]> {
  const found = await body(api.GET("/policies", {}));
  return found.rules.map(({ id }) => ({ kind: "Rule", name: id, detail: "its calls", path: `/decisions?rule=${encodeURIComponent(id)}` }));
}

async function people(): Promise<Destination[]> {
  const page = await body(api.GET("/users", { params: { query: { limit: 200 } } }));
  return page.items.map(({ name, team }) => ({ kind: "Person", name, detail: `team ${team}`, path: `/decisions?user=${encodeURIComponent(name)}` }));
}

async function teams(): Promise<Destination[]> {
  const { items } = await body(api.GET("/teams"));
  return items.map(({ name }) => ({ kind: "Team", name, detail: "its people", path: `/people?tab=users&team=${encodeURIComponent(name)}` }));
}

const action = (name: string, path: string): Destination => ({ kind: "Action", name, detail: "", path });
const ACTIONS: readonly Destination[] = [
  action("Set a mode", "/modes?make=true"),
  action("Unlock a rule", "/modes?tab=unlocks&make=true"),
  action("Delegate a task", "/delegations/new"),
  action("Simulate a call", "/simulator"),
  action("Write a rule", "/policies/user?tab=edit"),
  action("Tokens: make or revoke one", "/people?tab=tokens"),
];

/** Decisions whose tool, command or path has a text: the newest, and the list of all of them. */
export const textQuery = (text: string) =>
  queryOptions({
    queryKey: ["destinations", "decisions", text],
    staleTime: 10_000,
    queryFn: async (): Promise<Destination[]> => {
      const page = await body(api.GET("/decisions", { params: { query: { q: text, limit: 5 } } }));
      const found = page.items.map((one) => ({ kind: "Decision", name: one.command || one.paths[0] || one.tool || one.event, detail: `${one.user} · ${when(one.at)}`, path: `/decisions?id=${one.id}` }));
      return found.length > 0 ? [...found, { kind: "Decisions", name: `All with “${text}”`, detail: "", path: `/decisions?q=${encodeURIComponent(text)}` }] : [];
    },
  });

/** Everything that the palette knows; a list that this person may not read, or that is away, is left out. */
export const destinationsQuery = queryOptions({
  queryKey: ["destinations"],
  staleTime: 30_000,
  queryFn: async () => {
    const lists = await Promise.allSettled([sessions(), ...(has("/delegations") ? [jobs()] : []), rules(), people(), teams()]);
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  },
});

/** The destinations that all words of a text are found in; the screens first, then those whose name begins with the text. */
export function matching(text: string, found: readonly Destination[]): Destination[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (one: Destination) => (one.name.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  const views = viewsKept().map(({ name, path }) => ({ kind: "View", name, detail: "", path }));
  return [...screens(), ...ACTIONS, ...views, ...(words.length > 0 ? found : [])]
    .filter((one) => words.every((word) => `${one.kind} ${one.name} ${one.detail}`.toLowerCase().includes(word)))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, words.length > 0 ? SHOWN : MENU.length + ACTIONS.length);
}
