import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { MENU } from "../screens/menu";

const WAIT_MS = 1_000;

/** Keys of every screen: `g` and a letter go somewhere, `/` goes to the first filter. Never while somebody types. */
export function useKeys(): void {
  const navigate = useNavigate();
  const going = useRef(0);
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, [contenteditable]")) return;
      if (event.key === "g") {
        going.current = Date.now();
        return;
      }
      const to = MENU.find((entry) => entry.letter === event.key)?.to;
      if (to && Date.now() - going.current < WAIT_MS) {
        event.preventDefault();
        void navigate({ to, search: {} });
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLElement>("[role=search] input, [role=search] select");
        if (filter) {
          event.preventDefault();
          filter.focus();
        }
      }
      going.current = 0;
    }
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [navigate]);
}
