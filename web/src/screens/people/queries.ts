import { queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";
import { pagesQuery } from "../../api/queries";

export type User = Schemas["UserModel"];
export type Token = Schemas["TokenModel"];
export type Browser = Schemas["BrowserModel"];

export const usersQuery = (team: string) =>
  pagesQuery(["users", team], (cursor) => body(api.GET("/users", { params: { query: { cursor, team, limit: 100 } } })));

export const teamsQuery = queryOptions({ queryKey: ["teams"], queryFn: () => body(api.GET("/teams")) });

export const projectsQuery = queryOptions({ queryKey: ["projects"], queryFn: () => body(api.GET("/projects")) });

export const tokensQuery = (user: string) =>
  pagesQuery(["tokens", user], (cursor) => body(api.GET("/tokens", { params: { query: { cursor, user, limit: 50 } } })));

export const browsersQuery = queryOptions({ queryKey: ["browsers"], queryFn: () => body(api.GET("/session/browsers")) });

/** Roles that somebody can have who signs in with their company's account. */
export const SIGN_IN_ROLES = ["developer", "lead", "admin", "auditor"] as const;

/** What each role is for, as docs/operations.md says it. */
export const ROLES = {
  developer: "Works with agents; sees and changes what is their own.",
  lead: "A developer who also sees and sets what is their team's.",
  admin: "Sees and sets everything.",
  auditor: "Sees everything and changes nothing.",
  runner: "A machine that works on delegated jobs for its user.",
  observer: "A system that reads events, prompts and contents included.",
  hook: "The hooks of one machine: posts calls and weakens nothing.",
} as const;
