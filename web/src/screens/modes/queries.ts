import { queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { pagesQuery } from "../../api/queries";

export const SCOPES = ["organisation", "team", "project", "user", "user_project", "session"] as const;
export type Scope = (typeof SCOPES)[number];
export type Setting = Schemas["ListedModeModel"];
export type RuleException = Schemas["ExceptionModel"];
export type Unlock = Schemas["UnlockModel"];

export interface Whose {
  session_id: string;
  project: string;
  user: string;
}

export const modeInForceQuery = (whose: Whose) =>
  queryOptions({ queryKey: ["mode", whose], queryFn: () => body(api.GET("/mode", { params: { query: whose } })) });

export const modesQuery = (scope: Scope | undefined) =>
  pagesQuery(["modes", scope], (cursor) => body(api.GET("/modes", { params: { query: { cursor, ...(scope && { scope }) } } })));

export const exceptionsQuery = pagesQuery(["exceptions"], (cursor) => body(api.GET("/exceptions", { params: { query: { cursor } } })));

export const unlocksQuery = queryOptions({
  queryKey: ["unlocks"],
  queryFn: () => body(api.GET("/policies/unlocks")),
});
