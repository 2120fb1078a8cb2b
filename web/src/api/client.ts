import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Decision = Schemas["DecisionModel"];
export type Me = Schemas["MeModel"];

/** The public API, as any client sees it; the browser adds the session's cookie. */
export const api = createClient<paths>({ baseUrl: "" });

/** An answer that is no success, in the server's own words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Of an endpoint that has CSV too, where `Accept` asks for it, the JSON: that is what this page asks for. */
type Json<T> = [Exclude<T, string>] extends [never] ? T : Exclude<T, string>;

/** Return what a call brought; throw `ApiError` for a refusal, in the server's own words. */
export async function body<T>(call: Promise<Answer<T>>): Promise<Json<T>> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (!answer.response.ok) {
    const problem = answer.error as { detail?: string } | undefined;
    throw new ApiError(answer.response.status, problem?.detail ?? `The server answered ${answer.response.status}.`);
  }
  return answer.data as Json<T>;
}
