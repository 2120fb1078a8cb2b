import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import type { Tier } from "./routes";

export type Files = Record<string, string>;
export type Layer = Schemas["LayerModel"];
export type Problem = Schemas["PolicyProblemModel"];
export type RuleCount = Schemas["RuleCountModel"];

/** The place of a layer: its tier, and the name of the team, project or user; "" is the reader's own. */
export interface Place {
  tier: Tier;
  name: string;
}

export const at = ({ tier, name }: Place) => ({ path: { tier }, query: name ? { name } : {} });

export const policiesQuery = queryOptions({ queryKey: ["policies"], queryFn: () => body(api.GET("/policies")) });

export const ruleCountsQuery = queryOptions({
  queryKey: ["rule-counts"],
  queryFn: () => body(api.GET("/policies/rules")),
  staleTime: 10_000,
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
