import "./audit.css";
import { Button, Group, Stack, TextInput, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, body, type Schemas } from "../../api/client";
import { pagesQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { moment } from "../../parts/time";
import { changes } from "./changes";
import type { AuditSearch } from "./routes";

type AuditEntry = Schemas["AuditEntryModel"];
const route = getRouteApi("/shell/audit");
const KINDS = ["kind", "object", "actor"] as const;
const MOMENTS = ["since", "until"] as const;
const NAMES = { kind: "Kind", object: "Object", actor: "Who", since: "Since", until: "Until" } as const;

const auditQuery = (filters: AuditSearch) =>
  pagesQuery(["audit", filters], (cursor) => body(api.GET("/audit", { params: { query: { ...filters, cursor, limit: 50 } } })));

/** Who changed what, when, from what to what, and why. Its filters are the page's URL. */
export function Audit() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery(auditQuery(filters));
  const filter = (name: keyof AuditSearch, value: string) => {
    if (value !== (filters[name] ?? "")) void navigate({ search: (before) => ({ ...before, [name]: value || undefined }), replace: true });
  };
  const entries = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Title order={1}>Audit</Title>
      <Group gap="sm" role="search" align="end">
        {KINDS.map((name) => (
          <TextInput
            key={`${name} ${filters[name] ?? ""}`}
            label={NAMES[name]}
            placeholder={name === "kind" ? "mode, token, layer …" : ""}
            defaultValue={filters[name] ?? ""}
            onKeyDown={(event) => event.key === "Enter" && filter(name, event.currentTarget.value.trim())}
            onBlur={(event) => filter(name, event.currentTarget.value.trim())}
            w={150}
          />
        ))}
        {MOMENTS.map((name) => (
          <TextInput
            key={`${name} ${filters[name] ?? ""}`}
            label={NAMES[name]}
            type="datetime-local"
            defaultValue={asField(filters[name])}
            onBlur={(event) => filter(name, event.currentTarget.value && new Date(event.currentTarget.value).toISOString())}
          />
        ))}
        {filtered && (
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            Clear filters
          </Button>
        )}
      </Group>
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

/** One change; opened, it shows which fields had which values. */
function Change({ one }: { one: AuditEntry }) {
  const fields = changes(one.before, one.after);
  return (
    <details className="change">
      <summary data-row tabIndex={0}>
        <span className="muted">{moment(one.at)}</span>
        <b>{one.actor || "—"}</b>
        <span className="mono">{one.action}</span>
        <span className="cut">{one.object}</span>
        <span className="cut muted">{one.reason}</span>
      </summary>
      <dl className="facts" style={{ padding: "4px 16px 16px" }}>
        <dt className="muted">Object</dt>
        <dd>{one.object}</dd>
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

/** A moment as a `datetime-local` field takes it, in the reader's time. */
function asField(at: string | undefined): string {
  if (!at) return "";
  const local = new Date(at);
  return new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
