/** One event of a job's stream. */
export interface JobEvent {
  no: number;
  type: string;
  at: string;
  attempt: number;
  data: Record<string, unknown>;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Follow a job's events after a number until its last one; a lost connection is taken up where it broke off.
 *
 * It is a `fetch`, and no `EventSource`, as that one cannot be told after which event to begin.
 */
export async function follow(
  job: string,
  after: number,
  signal: AbortSignal,
  take: (event: JobEvent) => void,
  connected: (is: boolean) => void,
): Promise<void> {
  let last = after;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const answer = await fetch(`/jobs/${encodeURIComponent(job)}/events`, {
        headers: { accept: "text/event-stream", ...(last ? { "last-event-id": String(last) } : {}) },
        signal,
      });
      if (answer.status >= 400 && answer.status < 500) return; // the page's other calls say what is wrong
      if (answer.ok && answer.body) {
        connected(true);
        for await (const event of events(answer.body)) {
          last = event.no;
          pause = FIRST_PAUSE_MS;
          take(event);
        }
        return; // the server ends the stream after the job's last event
      }
    } catch {
      if (signal.aborted) return;
    }
    connected(false);
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
}

/** Read the events of a stream as the server writes them: lines `event:` and `data:`, and an empty one. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<JobEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  let type = "";
  let data = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("event:")) type = line.slice(6).trim();
        else if (line.startsWith("data:")) data += line.slice(5);
        else if (!line.trim() && data) {
          const body = JSON.parse(data) as Record<string, unknown>;
          yield { no: Number(body.no), type, at: String(body.at), attempt: Number(body.attempt), data: body };
          type = data = "";
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
