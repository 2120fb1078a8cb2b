import { Alert, Button, Group, Title } from "@mantine/core";
import { IconArrowBackUp } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { Failed } from "../../parts/Failed";
import { FormDialog } from "../../parts/FormDialog";
import { moment } from "../../parts/time";
import { Affected, Replayed } from "./Activate";
import { at, LAYER_KEYS, versionQuery, versionsQuery, type Place } from "./queries";

/** The versions of a layer: who wrote each and why; any can be activated, and the one before be put back. */
export function Versions({ place, active }: { place: Place; active: number }) {
  const versions = useQuery(versionsQuery(place));
  const [asked, setAsked] = useState(0);
  const chosen = useQuery({ ...versionQuery(place, asked), enabled: asked > 0 });
  const [undoable, setUndoable] = useState<{ before: number; version: number }>();
  const queries = useQueryClient();
  const done = () => Promise.all(LAYER_KEYS.map((key) => queries.invalidateQueries({ queryKey: [key] })));
  const header = { "If-Match": `"${active}"` };
  const activate = useMutation({
    mutationFn: (version: number) =>
      body(
        api.POST("/policies/layers/{tier}/versions/{version}/activate", {
          params: { path: { tier: place.tier, version }, query: at(place).query, header },
        }),
      ),
    onSuccess: async (_, version) => {
      setUndoable({ before: active, version });
      await done();
    },
  });
  const changed = () => {
    setUndoable(undefined);
    return done();
  };
  const rollBack = useMutation({
    mutationFn: () => body(api.POST("/policies/layers/{tier}/rollback", { params: { ...at(place), header } })),
    onSuccess: changed,
  });
  const remove = useMutation({
    mutationFn: () => body(api.DELETE("/policies/layers/{tier}", { params: { ...at(place), header } })),
    onSuccess: changed,
  });
  const undo = useMutation({
    mutationFn: (before: number) => (before === 0 ? remove.mutateAsync() : activate.mutateAsync(before)),
    onSuccess: () => setUndoable(undefined),
  });
  const error = activate.error ?? rollBack.error ?? remove.error;
  const items = versions.data?.items ?? [];
  return (
    <section aria-label="Versions">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Versions</Title>
        {active > 0 && (
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<IconArrowBackUp size={16} aria-hidden />}
              loading={rollBack.isPending}
              onClick={() => rollBack.mutate()}
            >
              Roll back
            </Button>
            <Button variant="default" loading={remove.isPending} onClick={() => remove.mutate()}>
              Switch off
            </Button>
          </Group>
        )}
      </Group>
      {error && (
        <Alert color="red" variant="outline" role="alert" mb="sm" title="Nothing was changed">
          {error.message}
        </Alert>
      )}
      {undoable?.version === active && (
        <Alert role="status" mb="sm">
          <Group justify="space-between">
            Version {active} is in force.
            <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate(undoable.before)}>
              Undo
            </Button>
          </Group>
        </Alert>
      )}
      <Failed error={versions.error} again={() => void versions.refetch()} />
      {versions.isSuccess && items.length === 0 && <p className="muted note">No version yet.</p>}
      <ol className="versions">
        {items.map((one) => (
          <li key={one.version} className="panel">
            <span>
              <strong>Version {one.version}</strong> {one.state === "active" ? <span style={{ color: "var(--allow)" }}>✓ in force</span> : <span className="muted">{one.state}</span>}
              <br />
              <span className="muted">
                {one.created_by}, {moment(one.created_at)}
                {one.reason && `: ${one.reason}`}
              </span>
            </span>
            {one.state !== "active" && (
              <Button size="xs" variant="default" onClick={() => setAsked(one.version)}>
                Activate version {one.version}
              </Button>
            )}
          </li>
        ))}
      </ol>
      {asked > 0 && (
        <FormDialog title={`Activate version ${asked}?`} submit="Activate it" run={() => activate.mutateAsync(asked)} changes={[]} close={() => setAsked(0)}>
          <Affected place={place} />
          {chosen.data && <Replayed files={chosen.data.files} />}
        </FormDialog>
      )}
    </section>
  );
}
