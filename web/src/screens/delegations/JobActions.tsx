import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, body } from "../../api/client";
import { Confirm } from "../../parts/Confirm";
import { Failed } from "../../parts/Failed";
import { hasEnded } from "../../parts/JobState";
import type { Job } from "./queries";

/** Approve, cancel and retry, each where the job's state allows it. */
export function JobActions({ job }: { job: Job }) {
  const queries = useQueryClient();
  const path = { params: { path: { job_id: job.id } } };
  const act = useMutation({
    mutationFn: (verb: "approve" | "cancel" | "retry") =>
      verb === "approve"
        ? body(api.POST("/jobs/{job_id}/approve", path))
        : verb === "cancel"
          ? body(api.POST("/jobs/{job_id}/cancel", path))
          : body(api.POST("/jobs/{job_id}/retry", path)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["job", job.id] }),
  });
  const active = !hasEnded(job.state);
  if (!active && job.state === "completed") return null;
  return (
    <>
      <Group gap="sm">
        {job.state === "pending_approval" && (
          <Button size="xs" loading={act.isPending} onClick={() => act.mutate("approve")}>
            Approve
          </Button>
        )}
        {active ? (
          <Confirm
            label="Cancel"
            question="The agent is stopped, and its unfinished work is lost. Cancel the job?"
            yes="Cancel the job"
            disabled={act.isPending || job.cancel_requested}
            onYes={() => act.mutate("cancel")}
          />
        ) : (
          <Button size="xs" variant="default" loading={act.isPending} onClick={() => act.mutate("retry")}>
            Retry
          </Button>
        )}
      </Group>
      <Failed error={act.error} again={() => act.reset()} />
    </>
  );
}
