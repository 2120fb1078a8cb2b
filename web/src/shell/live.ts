import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Me } from "../api/client";
import { tellUser, useStream } from "../api/stream";

/** What the stream means for every screen: what may have been missed is asked again, and nobody sees what another saw. */
export function useLive(me: Me | undefined): void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  useStream("gap", () => void queries.invalidateQueries());
  useStream("reset", () => void queries.resetQueries());
  useStream("modes", () => {
    void queries.invalidateQueries({ queryKey: ["mode"] });
    void queries.invalidateQueries({ queryKey: ["modes"] });
  });
  useStream("open", ({ question }) => {
    window.focus();
    void navigate({ to: "/waiting/$id", params: { id: question } });
  });
  const user = me?.user;
  useEffect(() => {
    if (user) tellUser(user);
  }, [user]);
}
