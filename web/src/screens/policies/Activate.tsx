import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { FormDialog } from "../../parts/FormDialog";
import { many } from "../../parts/figures";
import { when } from "../../parts/time";
import { affectedQuery, at, type Files, LAYER_KEYS, type Place } from "./queries";
import { replayedOf } from "./replayed";
import type { Draft } from "./useDraft";

interface Props {
  place: Place;
  draft: Draft;
  active: number;
  /** The files that may be activated: the draft without those with problems; undefined while none may. */
  ready: Files | undefined;
  /** Changed files that stay in the draft, because they have problems. */
  left: readonly string[];
}

/** Stores a draft as a new version, in force at once or not. The server says who may, and that nobody else was quicker. */
export function Activate({ place, draft, active, ready, left }: Props) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const refresh = () => Promise.all(LAYER_KEYS.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  const upload = useMutation({
    mutationFn: (activate: boolean) =>
      body(
        api.PUT("/policies/layers/{tier}", {
          params: { path: { tier: place.tier }, query: { ...at(place).query, activate }, ...(active ? { header: { "If-Match": `"${active}"` } } : {}) },
          body: { files: ready ?? {}, reason },
        }),
      ),
    onSuccess: async (_, activate) => {
      if (activate) draft.leave(left.length > 0 ? { ...ready, ...Object.fromEntries(left.map((path) => [path, draft.files[path] ?? ""])) } : {});
      setReason("");
      await refresh();
    },
  });
  const undo = useMutation({
    mutationFn: async (version: number) => {
      const header = { "If-Match": `"${version}"` };
      const params = { ...at(place), header };
      if (before === 0) await body(api.DELETE("/policies/layers/{tier}", { params }));
      else await body(api.POST("/policies/layers/{tier}/rollback", { params }));
    },
    onSuccess: async () => {
      upload.reset();
      await refresh();
    },
  });
  const [before, setBefore] = useState(active);
  const able = draft.changed && ready !== undefined;
  return (
    <section className="panel" aria-label="Activate">
      <Stack gap="sm">
        {(upload.error ?? undo.error) && !asking && (
          <Alert color="red" variant="outline" role="alert" title="Nothing was changed">
            {(upload.error ?? undo.error)?.message}
          </Alert>
        )}
        {upload.data && (
          <Alert role="status">
            <Group justify="space-between">
              Version {upload.data.version} is {upload.data.state === "active" ? "in force" : "kept as a draft"}.
              {upload.data.state === "active" && (
                <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate(upload.data.version)}>
                  Undo
                </Button>
              )}
            </Group>
          </Alert>
        )}
        {left.length > 0 && (
          <Text size="sm">
            {ready ? "Stays in the draft until it is accepted" : "Not accepted"}: <span className="mono">{left.join(", ")}</span>
          </Text>
        )}
        <Group gap="xs">
          <Button
            disabled={!able}
            onClick={() => {
              setBefore(active);
              upload.reset();
              setAsking(true);
            }}
          >
            Activate
          </Button>
          <Button variant="default" disabled={!able} loading={upload.isPending && !upload.variables} onClick={() => upload.mutate(false)}>
            Keep as a draft
          </Button>
          <Button variant="default" disabled={!draft.changed} onClick={draft.discard}>
            Discard the changes
          </Button>
        </Group>
        {!draft.changed && <p className="muted note">Nothing has changed yet.</p>}
      </Stack>
      {asking && ready && (
        <FormDialog title="Activate this layer?" submit="Activate it" run={() => upload.mutateAsync(true)} changes={[]} close={() => setAsking(false)}>
          <Affected place={place} />
          <Replayed files={ready} />
          <TextInput label="Why" description="Kept in the audit log." value={reason} maxLength={1_000} onChange={(event) => setReason(event.currentTarget.value)} data-autofocus />
        </FormDialog>
      )}
    </section>
  );
}

/** Whom an activation concerns. */
export function Affected({ place }: { place: Place }) {
  const { data } = useQuery(affectedQuery(place));
  const whose = place.tier === "organisation" ? "the organisation" : `${place.tier} ${place.name || "of your own"}`;
  return (
    <Text size="sm">
      It applies to <b>{whose}</b> from the next call on
      {data && `: ${data.people} in the last 7 days, ${data.live} now`}.
    </Text>
  );
}

/** What the last replay of these files changed. */
export function Replayed({ files }: { files: Files }) {
  const last = replayedOf(files);
  return (
    <Text size="sm">
      {last
        ? `Last replay, ${when(last.at)}: of ${many(last.summary.read, "call")}, ${last.summary.changed} would be decided otherwise.`
        : "These files were not replayed. The tab Replay shows which calls would be decided otherwise."}
    </Text>
  );
}
