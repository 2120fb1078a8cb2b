import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { type Files, type Layer, type Place, ruleTestQuery } from "./queries";
import type { Way } from "../../parts/layers";

/** The files of a layer as they are being written. They outlive the page until they are put away or uploaded. */
export interface Draft {
  files: Files;
  changed: boolean;
  error: Error | null;
  /** Set the text of a file; null takes it out. */
  put: (path: string, text: string | null) => void;
  discard: () => void;
  /** Keep these files alone as the draft, such as those that were not accepted. */
  leave: (rest: Files) => void;
}

const NOTHING: Files = {};

export function useDraft(place: Place, layer: Layer | null | undefined, from: string | undefined, way: Way, made: (file: string) => void): Draft {
  const key = `baton-draft ${place.tier}/${place.name}`;
  const [kept, setKept] = useState<{ key: string; files: Files | null }>(() => ({ key, files: stored(key) }));
  const own = kept.key === key ? kept.files : stored(key);
  const active = layer?.files ?? NOTHING;
  const files = own ?? active;
  const keep = useCallback(
    (next: Files | null) => {
      if (next) sessionStorage.setItem(key, JSON.stringify(next));
      else sessionStorage.removeItem(key);
      setKept({ key, files: next });
    },
    [key],
  );
  const test = useQuery({ ...ruleTestQuery(from ?? "", way), enabled: Boolean(from) });
  useEffect(() => {
    if (!test.data || layer === undefined || !from) return;
    keep({ ...files, [test.data.path]: test.data.text });
    made(test.data.path);
  }, [test.data, layer, from, files, keep, made]);
  return useMemo(
    () => ({
      files,
      changed: own !== null && JSON.stringify(own) !== JSON.stringify(active),
      error: from ? test.error : null,
      put: (path: string, text: string | null) => {
        const next = { ...files };
        if (text === null) delete next[path];
        else next[path] = text;
        keep(next);
      },
      discard: () => keep(null),
      leave: (rest: Files) => keep(Object.keys(rest).length > 0 ? rest : null),
    }),
    [files, own, active, from, test.error, keep],
  );
}

/** Put a file into the draft of a layer that is not open, over its active files. */
export function putIntoDraft(place: Place, active: Files, path: string, text: string): void {
  const key = `baton-draft ${place.tier}/${place.name}`;
  sessionStorage.setItem(key, JSON.stringify({ ...(stored(key) ?? active), [path]: text }));
}

function stored(key: string): Files | null {
  const text = sessionStorage.getItem(key);
  return text ? (JSON.parse(text) as Files) : null;
}
