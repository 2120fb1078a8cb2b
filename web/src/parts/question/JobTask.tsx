import { useQuery } from "@tanstack/react-query";
import { api, body } from "../../api/client";
import { Failed } from "../Failed";

/** What a job that waits to be confirmed tells its agent to do. */
export function JobTask({ job }: { job: string }) {
  const found = useQuery({
    queryKey: ["job", job, "task"],
    queryFn: () => body(api.GET("/jobs/{job_id}", { params: { path: { job_id: job } } })),
    staleTime: Infinity, // a job's prompt never changes
  });
  return (
    <>
      <Failed error={found.error} again={() => void found.refetch()} />
      {found.data && (
        <pre className="command" tabIndex={0} role="region" aria-label="The task">
          {found.data.prompt}
        </pre>
      )}
    </>
  );
}
