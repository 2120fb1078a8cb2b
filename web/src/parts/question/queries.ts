import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ApiError, body } from "../../api/client";
import { meQuery } from "../../api/queries";
import { useStream } from "../../api/stream";
import { inTurn, ofApproval, ofJob, type Question } from "./question";

/** All that waits for a person. The stream says when it changed; asking again is for when it is silent. */
export const questionsQuery = queryOptions({
  queryKey: ["questions"],
  queryFn: async ({ client }): Promise<Question[]> => {
    const [me, approvals, jobs] = await Promise.all([
      client.ensureQueryData(meQuery),
      body(api.GET("/approvals")),
      body(api.GET("/jobs", { params: { query: { state: "pending_approval", limit: 200 } } })),
    ]);
    const found = [...approvals.items.map(ofApproval), ...jobs.items.map((job) => ofJob(job, me))];
    return found.sort(inTurn);
  },
  refetchInterval: 15_000,
  // Who reads the list counts as reachable, also with the tab in the background.
  refetchIntervalInBackground: true,
});

/** What waits, kept up to date by the stream. */
export function useQuestions() {
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: questionsQuery.queryKey });
  useStream("questions", again);
  useStream("jobs", again);
  return useQuery(questionsQuery);
}

/** How many questions the one who is signed in may answer; for the menu and the title. */
export function useMyQuestions(): number {
  return useQuestions().data?.filter((one) => one.mayAnswer).length ?? 0;
}

/** What became of a question, to be shown in its place. */
export interface Ending {
  question: Question;
  text: string;
}

const SAID = { allow: "allowed", deny: "denied" };
const SHOWN_MS = 10_000;

/** Answer questions, and say what became of those that are over: answered here, by somebody else, or by the clock. */
export function useAnswers(questions: readonly Question[]) {
  const queries = useQueryClient();
  const [endings, setEndings] = useState<readonly Ending[]>([]);
  const { data: me } = useQuery(meQuery);

  function end(question: Question, text: string) {
    setEndings((before) => [...before.filter((one) => one.question.id !== question.id), { question, text }]);
    setTimeout(() => setEndings((before) => before.filter((one) => one.question.id !== question.id)), SHOWN_MS);
  }

  useStream("questions", (event) => {
    const question = questions.find((one) => one.id === event.question_id);
    if (!question || event.name === "question.opened") return;
    if (event.name === "question.expired") {
      end(question, event.reason === "timeout" ? "Nobody answered in time: denied." : "The agent has ended: denied.");
    } else if (event.answered_by !== me?.user && event.answer) {
      end(question, `${event.answered_by} answered first: ${SAID[event.answer]}.`);
    }
  });

  const answer = useMutation({
    mutationFn: ({ question, allow, reason }: { question: Question; allow: boolean; reason: string }) =>
      question.kind === "job" ? decideJob(question, allow) : decide(question, allow, reason),
    onSuccess: (text, { question }) => end(question, text),
    // Not waited for: until the list is read again, the next answer would be ignored.
    onSettled: () => void queries.invalidateQueries({ queryKey: questionsQuery.queryKey }),
  });
  return { endings, answer };
}

async function decideJob({ job }: Question, allow: boolean): Promise<string> {
  const params = { path: { job_id: job } };
  await body(allow ? api.POST("/jobs/{job_id}/approve", { params }) : api.POST("/jobs/{job_id}/cancel", { params }));
  const { waiting } = allow ? await body(api.GET("/jobs/{job_id}", { params })) : {};
  if (waiting) return `You allowed it; the job waits: ${waiting.detail}.`;
  return allow ? "You allowed it; the job starts." : "You denied it; the job is cancelled.";
}

async function decide({ job, id }: Question, allow: boolean, reason: string): Promise<string> {
  const answer = allow ? ("allow" as const) : ("deny" as const);
  try {
    await body(api.POST("/approvals/{approval_id}", { params: { path: { approval_id: id } }, body: { answer, reason } }));
    return allow && !job ? "You allowed it: the same call passes once." : `You ${SAID[answer]} it.`;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    const now = await body(api.GET("/approvals/{approval_id}", { params: { path: { approval_id: id } } }));
    return now.decided_by ? `${now.decided_by} answered first: ${now.state}.` : `It is already closed: ${now.state}.`;
  }
}
