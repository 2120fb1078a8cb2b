import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ApiError, body, type Decision } from "../../api/client";
import type { Simulation } from "./search";

export const revisionsQuery = queryOptions({
  queryKey: ["revisions"],
  queryFn: () => body(api.GET("/policies/revisions")),
  staleTime: 10_000,
});

/** What the rules of a revision ("" for those in force) say of a call. */
export const simulationQuery = (asked: Simulation, revision: string) =>
  queryOptions({
    queryKey: ["simulation", asked, revision],
    queryFn: () => body(api.POST("/policies/evaluate", { body: question(asked, revision) })),
    placeholderData: keepPreviousData,
    enabled: Boolean(asked.tool),
    retry: false,
  });

/** The call of a decision, as far as it is stored. */
export function callOf(one: Decision): Simulation {
  return {
    from: one.id,
    tool: one.tool ?? "",
    command: one.command ?? undefined,
    input: one.command || one.paths.length === 0 ? undefined : JSON.stringify({ file_path: one.paths[0] }),
    level: one.mode_enabled ? (one.mode_level ?? "off") : "off",
    project: one.project ?? undefined,
  };
}

function question(asked: Simulation, revision: string) {
  const root = asked.project?.startsWith("/") ? asked.project : "/repo";
  return {
    tool_name: asked.tool ?? "",
    tool_input: { ...json(asked.input), ...(asked.command ? { command: asked.command } : {}) },
    session_id: "",
    cwd: root,
    ...(asked.project ? { project: asked.project } : {}),
    ...(asked.level ? { level: asked.level as "off" | "guidance" | "strict" } : {}),
    history: (asked.history ?? "").split(",").flatMap((tool) => (tool.trim() ? [tool.trim()] : [])),
    ...(revision ? { revision } : {}),
    ...(asked.user || asked.role ? { principal: { ...(asked.user ? { user: asked.user } : {}), ...(asked.role ? { role: asked.role as "lead" } : {}) } } : {}),
  };
}

function json(text: string | undefined): Record<string, unknown> {
  if (!text) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ApiError(422, `The input is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ApiError(422, "The input must be a JSON object.");
  return value as Record<string, unknown>;
}
