// The main paths as a team's program would write them, on the generated types. It is compiled and run, not shipped.
import assert from "node:assert/strict";

import createClient from "openapi-fetch";

import type { paths } from "./schema.js";

const session = "usage-typescript";
const [url, token] = process.argv.slice(2);
const baton = createClient<paths>({ baseUrl: url ?? "", headers: { Authorization: `Bearer ${token}` } });

const health = await baton.GET("/healthz");
assert.equal(health.data?.status, "ok");
const ready = await baton.GET("/readyz");
const status = await baton.GET("/status");
assert.equal(status.data?.policy_revision, ready.data?.policy_revision);
const policies = await baton.GET("/policies");
assert.ok(policies.data?.rules.some((rule) => rule.enabled));

const strict = { scope: "session", id: session, enabled: true, level: "strict", reason: "usage" } as const;
const set = await baton.PUT("/mode", { body: { user: "", project: "", ...strict } });
assert.equal(set.data?.level, "strict");
const started = await baton.POST("/session-start", { body: { session_id: session, cwd: `/home/ada/${session}` } });
assert.equal(started.data?.mode.enabled, true);

const edit = { session_id: session, tool_name: "Edit", tool_input: { file_path: "a.py" } };
const blocked = await baton.POST("/pre-tool-use", { body: edit });
assert.equal(blocked.data?.decision, "block");
const judged = await baton.POST("/policies/evaluate", { body: { ...edit, level: "off" } });
assert.equal(judged.data?.decision, "allow");
const native = await baton.POST("/hooks/{client}", {
  params: { path: { client: "claude-code" } },
  body: { ...edit, hook_event_name: "PreToolUse" },
});
assert.equal(native.response.status, 200);

await baton.POST("/post-tool-use", { body: { ...edit, tool_response: { ok: true } } });
const page = await baton.GET("/decisions", { params: { query: { session_id: session, limit: 10 } } });
assert.ok(page.data?.items.every((item) => item.session_id === session));
const refused = await baton.GET("/decisions", { params: { query: { limit: 0 } } });
assert.equal(refused.error?.errors?.[0]?.field, "limit");

const roster = [{ name: "bicycle-mechanic", description: "Repairs bicycles: chains, brakes, wheels." }];
const led = await baton.POST("/route", { body: { session_id: session, prompt: "my bicycle brakes squeak", roster } });
assert.equal(led.data?.selected_agent, "bicycle-mechanic");

await baton.POST("/session-end", { body: { session_id: session, reason: "done" } });
const removed = await baton.DELETE("/mode", { params: { query: { scope: "session", id: session } } });
assert.equal(removed.response.status, 204);
const mode = await baton.GET("/mode", { params: { query: { session_id: session } } });
assert.equal(mode.data?.enabled, false);
console.log("the TypeScript client works through a session");
