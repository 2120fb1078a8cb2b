import { queryOptions } from "@tanstack/react-query";
import { api, body } from "../../api/client";

const byId = (id: string) => ({ params: { path: { decision_id: id } } });

/** Why a call was decided so. It never changes but for the outcome and the mode's settings, so it is kept a while. */
export const explanationQuery = (id: string) =>
  queryOptions({
    queryKey: ["explanation", id],
    queryFn: () => body(api.GET("/decisions/{decision_id}/explanation", byId(id))),
    staleTime: 60_000,
  });
