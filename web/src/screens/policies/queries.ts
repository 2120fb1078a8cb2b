import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { many } from "../../parts/figures";
import { type Range, start } from "../../parts/time";
import type { Tier, Way } from "../../parts/layers";

export type Files = Record<string, string>;
export type Layer = Schemas["StoredLayerModel"];
export type Problem = Schemas["FaultModel"];
export type RuleCount = Schemas["RuleHitCountsModel"];

/** The place of a layer: its tier, and the name of the team, project or user; "" is the reader's own. */
export interface Place {
  tier: Tier;
  name: string;
}

export const at = ({ tier, name }: Place) => ({ path: { tier }, query: name ? { name } : {} });

export const ruleCountsQuery = (range: Range) =>
  queryOptions({
    queryKey: ["rule-counts", range],
    queryFn: () => body(api.GET("/policies/rules", { params: { query: { since: start(range.since ?? "7d") ?? null, until: range.until ?? null } } })),
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });

/** The packs with their state in a layer, and what they did in the last week. */
export const packsQuery = ({ tier, name }: Place) =>
  queryOptions({
    queryKey: ["packs", tier, name],
    queryFn: () => body(api.GET("/policies/packs", { params: { query: { tier, name } } })),
    placeholderData: keepPreviousData,
  });

/** What a pack stopped in the last week, with its noisiest shapes. */
export const packQuery = ({ tier, name }: Place, pack: string) =>
  queryOptions({
    queryKey: ["packs", tier, name, pack],
    queryFn: () => body(api.GET("/policies/packs/{pack}", { params: { path: { pack }, query: { tier, name } } })),
  });

export const layersQuery = queryOptions({ queryKey: ["layers"], queryFn: () => body(api.GET("/policies/layers")) });

/** The active version of a layer; null where it has none. */
export const layerQuery = (place: Place) =>
  queryOptions({
    queryKey: ["layers", place, "active"],
    queryFn: async (): Promise<Layer | null> => {
      const { items, next_cursor } = await body(api.GET("/policies/layers/{tier}/versions", { params: at(place) }));
      if (!next_cursor && !items.some((one) => one.state === "active")) return null;
      return body(api.GET("/policies/layers/{tier}", { params: at(place) }));
    },
  });

export const versionsQuery = (place: Place) =>
  queryOptions({
    queryKey: ["layers", place, "versions"],
    queryFn: () => body(api.GET("/policies/layers/{tier}/versions", { params: at(place) })),
  });

export const versionQuery = (place: Place, version: number) =>
  queryOptions({
    queryKey: ["layers", place, "version", version],
    queryFn: () =>
      body(
        api.GET("/policies/layers/{tier}/versions/{version}", {
          params: { path: { tier: place.tier, version }, query: at(place).query },
        }),
      ),
    staleTime: Infinity,
  });

export const schemaQuery = queryOptions({
  queryKey: ["policy-schema"],
  queryFn: () => body(api.GET("/policies/schema")),
  staleTime: Infinity,
});

/** What becomes of the tests of files that are being written. */
export const testQuery = (place: Place, files: Files) =>
  queryOptions({
    queryKey: ["policy-test", place, files],
    queryFn: () => body(api.POST("/policies/test", { body: { ...place, files } })),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    retry: false,
  });

/** What is loaded again after a layer has changed. */
export const LAYER_KEYS = ["layers", "policies", "rule-counts", "revisions"] as const;

/** The people with sessions that a layer applies to, and its live sessions; of more than 200 the first are counted. */
export const affectedQuery = ({ tier, name }: Place) =>
  queryOptions({
    queryKey: ["affected", tier, name],
    queryFn: async () => {
      const me = await body(api.GET("/me"));
      const whose = tier === "organisation" ? {} : { [tier]: name || (tier === "team" ? me.team : tier === "user" ? me.user : "") };
      const found = await body(api.GET("/sessions", { params: { query: { ...whose, limit: 200 } } }));
      const more = found.next_cursor ? "at least " : "";
      const people = new Set(found.items.map(({ user }) => user)).size;
      return {
        people: `${more}${people} ${people === 1 ? "person" : "people"} with ${many(found.items.length, "session")}`,
        live: `${more}${many(found.items.filter(({ live }) => live).length, "live session")}`,
      };
    },
  });

/** A rule's test made of a decision, with a rule to start from. */
export const ruleTestQuery = (id: string, way: Way) =>
  queryOptions({
    queryKey: ["rule-test", id, way],
    queryFn: () => body(api.GET("/decisions/{decision_id}/rule-test", { params: { path: { decision_id: id }, query: { way } } })),
    staleTime: Infinity,
  });
