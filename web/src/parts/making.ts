import { useState } from "react";

/** Whether a screen's form is open: by its button, or because the page's address asks for it with `make`. */
export function useMaking(asked: boolean | undefined, forget: () => void): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(false);
  const set = (next: boolean) => {
    setOn(next);
    if (!next && asked) forget();
  };
  return [on || asked === true, set];
}
