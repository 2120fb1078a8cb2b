import "./audit.css";
import { Button, Group, Stack, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, body, type Schemas } from "../../api/client";
import { pagesQuery } from "../../api/queries";
import { Export } from "../../parts/Export";
import { Failed } from "../../parts/Failed";
import { type Field, FilterBar } from "../../parts/FilterBar";
import { Time } from "../../parts/Time";
import { moment, resolved } from "../../parts/time";
import { changes } from "./changes";
import type { AuditSearch } from "./search";

type AuditEntry = Schemas["AuditEntryModel"];
const route = getRouteApi("/shell/audit");
const KINDS = ["approval", "breaker", "compliance", "exception", "freeze", "job", "mode", "pattern", "policies", "project", "report", "retention", "roster", "session", "team", "token", "unlock", "user", "webhook"];
const FIELDS: readonly Field[] = [
  { name: "kind", label: "Kind", of: [{ value: "", label: "Any kind" }, ...KINDS.map((value) => ({ value, label: value }))] },
  { name: "object", label: "Object" },
  { name: "actor", label: "Actor", of: "user" },
];

const auditQuery = (filters: AuditSearch) =>
  pagesQuery(["audit", filters], (cursor) => body(api.GET("/audit", { params: { query: { ...resolved(filters), cursor, limit: 50 } } })));

/** Who changed what, when, from what to what, and why. Its filters are the page's URL. */
export function Audit() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery(auditQuery(filters));
  const entries = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Audit</Title>
        <Export path="/audit/export" query={resolved(filters)} />
      </Group>
      <FilterBar
        fields={FIELDS}
        filters={filters}
        set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        clear={() => void navigate({ search: {} })}
      />
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.isSuccess && (
        <section className="panel" aria-label="Changes, the newest first" style={{ padding: 0 }}>
          {entries.map((one) => (
            <Change key={one.id} one={one} />
          ))}
          {entries.length === 0 && (
            <p className="muted" style={{ padding: 16, margin: 0 }}>
              {filtered ? "No change matches. Clear the filters to see all." : "Nobody has changed anything yet."}
            </p>
          )}
        </section>
      )}
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  );
}

const SCREENS: Record<string, string> = { mode: "/modes", freeze: "/modes", exception: "/modes?tab=exceptions", token: "/people?tab=tokens", team: "/people?tab=teams", project: "/people?tab=teams", pattern: "/routing?tab=patterns", breaker: "/routing?tab=breakers", roster: "/routing?tab=rosters" };

/** Where the object of a change is shown. */
function placeOf({ kind, object }: AuditEntry): string | undefined {
  const id = encodeURIComponent(object);
  const [tier, ...name] = object.split("/");
  if (kind === "policies" || kind === "layers") return name.length === 0 ? "/modes?tab=unlocks" : name[0] === "-" ? `/policies/${tier}` : `/policies/${tier}?name=${encodeURIComponent(name.join("/"))}`;
  return { user: `/decisions?user=${id}`, job: `/delegations/${id}`, session: `/sessions/${id}` }[kind] ?? SCREENS[kind];
}

/** One change; opened, it shows which fields had which values. */
function Change({ one }: { one: AuditEntry }) {
  const fields = changes(one.before, one.after);
  return (
    <details className="change">
      <summary data-row tabIndex={0}>
        <span className="muted">
          <Time at={one.at} />
        </span>
        <b>{one.actor || "—"}</b>
        <span className="mono">{one.action}</span>
        <span className="cut" title={one.object}>
          {one.object}
        </span>
        <span className="cut muted" title={one.reason}>
          {one.reason}
        </span>
      </summary>
      <dl className="facts" style={{ padding: "4px 16px 16px" }}>
        <dt className="muted">Object</dt>
        <dd>
          {one.object} {placeOf(one) && <a href={`/ui${placeOf(one)}`}>Open</a>}
        </dd>
        <dt className="muted">When</dt>
        <dd>{moment(one.at)}</dd>
        <dt className="muted">Role</dt>
        <dd>{one.role}</dd>
        {one.reason && <dt className="muted">Why</dt>}
        {one.reason && <dd>{one.reason}</dd>}
        {fields.map(({ name, before, after }) => [
          <dt key={`${name} name`} className="muted mono">
            {name}
          </dt>,
          <dd key={name} className="mono">
            {before !== undefined && <div className="removed">{before}</div>}
            {after !== undefined && <div className="added">{after}</div>}
          </dd>,
        ])}
      </dl>
    </details>
  );
}
