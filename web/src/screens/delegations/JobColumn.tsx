import { Loader, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { Failed } from "../../parts/Failed";
import { hasEnded } from "../../parts/JobState";
import { JobActions } from "./JobActions";
import { JobFacts } from "./JobFacts";
import { jobQuery } from "./queries";
import { Reply } from "./Reply";
import { Transcript } from "./Transcript";
import { useComments } from "./comments";
import { useTranscript } from "./useTranscript";

const JobResult = lazy(() => import("./JobResult"));

/** One job: what it is, its transcript as it comes, and what can be done with it. */
export function JobColumn({ id, titled }: { id: string; titled?: boolean }) {
  const found = useQuery(jobQuery(id));
  const job = found.data;
  const { transcript, connected } = useTranscript(id, job !== undefined && hasEnded(job.state));
  const comments = useComments();
  if (!job) return found.error ? <Failed error={found.error} again={() => void found.refetch()} /> : <Loader aria-label="Loading" />;
  const ended = hasEnded(job.state);
  return (
    <section className="job-column" aria-label={job.title} data-job={id}>
      {titled && (
        <Title order={2} className="cut">
          <Link to="/delegations/$job" params={{ job: id }}>
            {job.title}
          </Link>
        </Title>
      )}
      <JobFacts job={job} />
      <JobActions job={job} />
      {!connected && (
        <div className="note" role="status">
          Reconnecting…
        </div>
      )}
      <Transcript items={transcript.items} active={!ended} />
      {ended && job.isolation === "worktree" && (
        <Suspense fallback={<Loader aria-label="Loading" />}>
          <JobResult job={job} comments={comments} />
        </Suspense>
      )}
      {ended && job.started_at && <Reply job={job} comments={comments} />}
    </section>
  );
}
