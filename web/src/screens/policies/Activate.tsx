import { Alert, Button, Group, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { at, type Place } from "./queries";
import type { Draft } from "./useDraft";

/** Stores a draft as a new version, in force at once or not. The server says who may, and that nobody else was quicker. */
export function Activate({ place, draft, active, accepted }: { place: Place; draft: Draft; active: number; accepted: boolean }) {
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const upload = useMutation({
    mutationFn: (activate: boolean) =>
      body(
        api.PUT("/policies/layers/{tier}", {
          params: { path: { tier: place.tier }, query: { ...at(place).query, activate }, ...(active ? { header: { "If-Match": `"${active}"` } } : {}) },
          body: { files: draft.files, reason },
        }),
      ),
    onSuccess: async (_, activate) => {
      if (activate) draft.discard();
      setReason("");
      await Promise.all(["layers", "policies", "rule-counts", "revisions"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  return (
    <section className="panel" aria-label="Activate">
      <Stack gap="sm">
        <TextInput label="Why (for the audit log)" value={reason} maxLength={1_000} onChange={(event) => setReason(event.currentTarget.value)} />
        {upload.error && (
          <Alert color="red" variant="outline" role="alert" title="Nothing was changed">
            {upload.error.message}
          </Alert>
        )}
        {upload.data && !draft.changed && (
          <Alert role="status">
            Version {upload.data.version} is {upload.data.state === "active" ? "in force" : "kept as a draft"}.
          </Alert>
        )}
        <Group gap="xs">
          <Button disabled={!draft.changed || !accepted} loading={upload.isPending && upload.variables} onClick={() => upload.mutate(true)}>
            Activate
          </Button>
          <Button variant="default" disabled={!draft.changed || !accepted} loading={upload.isPending && !upload.variables} onClick={() => upload.mutate(false)}>
            Keep as a draft
          </Button>
          <Button variant="default" disabled={!draft.changed} onClick={draft.discard}>
            Put the changes away
          </Button>
        </Group>
        {!draft.changed && <p className="muted note">Nothing has changed yet.</p>}
      </Stack>
    </section>
  );
}
