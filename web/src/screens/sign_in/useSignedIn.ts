import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { restartStream } from "../../api/stream";

/** Returns what goes on after this browser was signed in: nothing that the last person saw stays. */
export function useSignedIn(): (page: string) => void {
  const queries = useQueryClient();
  const router = useRouter();
  return (page) => {
    queries.clear();
    restartStream();
    router.history.replace(page);
  };
}
