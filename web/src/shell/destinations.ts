import { queryOptions } from "@tanstack/react-query";
import { api, body } from "../api/client";
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

/** Everything that the palette knows; a list that this person may not read, or that is away, is left out. */
export const destinationsQuery = queryOptions({
  queryKey: ["destinations"],
  staleTime: 30_000,
  queryFn: async () => {
    const lists = await Promise.allSettled([sessions(), ...(has("/delegations") ? [jobs()] : []), rules()]);
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  },
});

/** The destinations that all words of a text are found in; the screens first, then those whose name begins with the text. */
export function matching(text: string, found: readonly Destination[]): Destination[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (one: Destination) => (one.name.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return [...screens(), ...(words.length > 0 ? found : [])]
    .filter((one) => words.every((word) => `${one.kind} ${one.name} ${one.detail}`.toLowerCase().includes(word)))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, Math.max(SHOWN, MENU.length));
}
