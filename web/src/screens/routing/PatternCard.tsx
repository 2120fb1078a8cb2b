import { Badge, Code, Group, NativeSelect, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Markdown } from "../../parts/Markdown";
import { ReasonButton } from "../../parts/ReasonButton";
import { moment } from "../../parts/time";
import { type Pattern, patternsQuery } from "./queries";

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** One pattern, with what edits have taught of it, and what a lead may do with it. */
export function PatternCard({ one, mayDecide }: { one: Pattern; mayDecide: boolean }) {
  const queries = useQueryClient();
  const params = { path: { pattern_id: one.id }, header: { "If-Match": `"${one.version}"` } };
  const changed = () => queries.invalidateQueries({ queryKey: ["patterns"] });
  const approve = async (reason: string) => {
    await body(api.POST("/patterns/{pattern_id}/approve", { params, body: { reason } }));
    await changed();
  };
  const retire = async (reason: string) => {
    await body(api.POST("/patterns/{pattern_id}/retire", { params, body: { reason } }));
    await changed();
  };
  const scope = [one.team, one.project, one.domain, one.language, ...one.globs].filter(Boolean);
  const edits = one.followed + one.violated;
  return (
    <section className="panel" aria-label={one.signature}>
      <Group justify="space-between" align="start">
        <Title order={2} style={{ overflowWrap: "anywhere" }}>
          {one.signature}
        </Title>
        <Badge variant="default">{percent(one.confidence)}</Badge>
      </Group>
      {one.text && <Markdown text={one.text} />}
      <Group gap={6} my="xs">
        {scope.map((name) => (
          <Code key={name}>{name}</Code>
        ))}
      </Group>
      <Text size="sm" className="muted">
        {one.source === "records" ? "Found in the records" : `Proposed by ${one.created_by}`}, {moment(one.created_at)}
        {one.reason && `: ${one.reason}`}
        {one.decided_at && ` · ${one.status === "retired" ? "retired" : "decided"} by ${one.decided_by}, ${moment(one.decided_at)}`}
        {` · shown ${one.shown} times`}
        {edits > 0 && ` · ${one.followed} of ${edits} edits followed it`}
        {one.status === "validated" && !one.in_force && " · below 70 %, so it is not used"}
      </Text>
      {mayDecide && one.status !== "retired" && (
        <Group gap="xs" mt="sm">
          {one.status === "proposed" && <ReasonButton label="Approve" act={approve} />}
          <ReasonButton label={one.status === "proposed" ? "Decline" : "Retire"} act={retire} />
          <Merge one={one} changed={changed} />
        </Group>
      )}
    </section>
  );
}

/** Retires a pattern in favour of another one that says the same. */
function Merge({ one, changed }: { one: Pattern; changed: () => Promise<void> }) {
  const [into, setInto] = useState("");
  const others = useInfiniteQuery(patternsQuery("validated")).data?.pages.flatMap((page) => page.items) ?? [];
  const known = others.filter((other) => other.id !== one.id && other.team === one.team);
  if (known.length === 0) return null;
  const merge = async (reason: string) => {
    const params = { path: { pattern_id: one.id }, header: { "If-Match": `"${one.version}"` } };
    await body(api.POST("/patterns/{pattern_id}/merge", { params, body: { into, reason } }));
    await changed();
  };
  return (
    <ReasonButton label="Merge" act={merge} disabled={!into}>
      <NativeSelect
        label="Into"
        mb="sm"
        data={[{ value: "", label: "Choose a pattern" }, ...known.map(({ id, signature }) => ({ value: id, label: signature }))]}
        value={into}
        onChange={(event) => setInto(event.currentTarget.value)}
      />
    </ReasonButton>
  );
}
