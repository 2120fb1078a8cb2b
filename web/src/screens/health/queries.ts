import { queryOptions } from "@tanstack/react-query";
import { api, body, type Schemas } from "../../api/client";

export type Status = Schemas["StatusModel"];
const EVERY_MS = 5_000;

export const serversQuery = queryOptions({
  queryKey: ["servers"],
  queryFn: () => body(api.GET("/status/servers")),
  refetchInterval: EVERY_MS,
});

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: () => body(api.GET("/status/settings")),
  staleTime: 60_000,
});
