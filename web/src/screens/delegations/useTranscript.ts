import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { follow, type JobEvent } from "./follow";
import { EMPTY, taken, type Transcript } from "./transcript";

const FLUSH_MS = 100;

/**
 * What a job's events tell so far, as they come, at most ten times a second.
 *
 * A page that nobody looks at holds no stream: a browser has six connections to a server. A job
 * that had ended, and was then tried again, is followed anew.
 */
export function useTranscript(job: string, ended: boolean): { transcript: Transcript; connected: boolean } {
  const [transcript, setTranscript] = useState(EMPTY);
  const [connected, setConnected] = useState(true);
  const last = useRef(0);
  const queries = useQueryClient();

  useEffect(() => {
    last.current = 0;
    setTranscript(EMPTY);
  }, [job]);

  useEffect(() => {
    let stop = new AbortController();
    let waiting: JobEvent[] = [];
    function flush() {
      if (waiting.length === 0) return;
      const events = waiting;
      waiting = [];
      setTranscript((before) => taken(before, events));
      if (events.some((event) => event.type !== "session.update")) void queries.invalidateQueries({ queryKey: ["job", job] });
    }
    function start() {
      const mine = new AbortController();
      stop = mine;
      function take(event: JobEvent) {
        if (mine.signal.aborted) return; // the next stream begins behind the last event that was taken
        last.current = event.no;
        waiting.push(event);
      }
      void follow(job, last.current, mine.signal, take, setConnected).then(flush);
    }
    function looked() {
      stop.abort();
      if (!document.hidden) start();
    }
    const timer = setInterval(flush, FLUSH_MS);
    document.addEventListener("visibilitychange", looked);
    start();
    return () => {
      stop.abort();
      flush();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", looked);
    };
  }, [job, ended, queries]);

  return { transcript, connected };
}
