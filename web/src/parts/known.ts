import { queryOptions } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { start } from "./time";

export type Kind = "user" | "team" | "project" | "rule" | "client" | "tool" | "session";
const MOST_PAGES = 10;

async function users(): Promise<string[]> {
  const found: string[] = [];
  for (let cursor = "", page = 0; page < MOST_PAGES; page++) {
    const one = await body(api.GET("/users", { params: { query: { limit: 200, cursor } } }));
    found.push(...one.items.map(({ name }) => name));
    if (!one.next_cursor) break;
    cursor = one.next_cursor;
  }
  return found;
}

async function recorded(group: "user" | "project" | "client" | "tool" | "rule"): Promise<string[]> {
  const query = { by: "day", group, since: start("30d") as string } as const;
  return (await body(api.GET("/decisions/counts", { params: { query } }))).groups;
}

const LISTS: Record<Kind, () => Promise<string[]>[]> = {
  user: () => [users(), recorded("user")],
  team: () => [body(api.GET("/teams")).then(({ items }) => items.map(({ name }) => name))],
  project: () => [body(api.GET("/projects")).then(({ items }) => items.map(({ name }) => name)), recorded("project")],
  rule: () => [body(api.GET("/policies", {})).then(({ rules }) => rules.map(({ id }) => id)), recorded("rule")],
  client: () => [recorded("client")],
  tool: () => [recorded("tool")],
  session: () => [body(api.GET("/sessions", { params: { query: { limit: 200 } } })).then(({ items }) => items.map((one) => one.session_id))],
};

/** The names of a kind that this person may see: those entered, and those of recorded calls. */
export const knownQuery = (kind: Kind) =>
  queryOptions({
    queryKey: ["known", kind],
    staleTime: 60_000,
    queryFn: async () => {
      const lists = await Promise.allSettled(LISTS[kind]());
      return [...new Set(lists.flatMap((list) => (list.status === "fulfilled" ? list.value : [])))].filter(Boolean).sort();
    },
  });
