import { useEffect, useRef } from "react";

/** What a key does. `press` is a key (`a`, `?`, `space`), one with Ctrl or ⌘ (`mod+k`), or two after each other (`g n`). */
export interface Key {
  press: string;
  label: string;
  run: () => void;
}

export interface KeyGroup {
  group: string;
  /** Keys of a drawer or a dialog; the others rest while the focus is in one. */
  inDialog: boolean;
  keys: readonly Key[];
}

const WAIT_MS = 1_000;
const FIELDS = "input, textarea, select, [contenteditable=true], [role=combobox]";
const PRESSABLE = "a, button, summary, [role=button], [role=tab], [role=menuitem], [role=option]";
const registered: (() => KeyGroup)[] = [];

/** Register the keys of a screen or a part of it, for as long as it is shown. Of two with the same key the newer one counts. */
export function useKeys(group: string, keys: readonly Key[], { inDialog = false } = {}): void {
  const latest = useRef<KeyGroup>({ group, inDialog, keys });
  useEffect(() => {
    latest.current = { group, inDialog, keys };
  });
  useEffect(() => {
    const entry = () => latest.current;
    registered.push(entry);
    return () => void registered.splice(registered.indexOf(entry), 1);
  }, []);
}

/** The keys that are registered now, in the order in which their screens appeared. */
export const keyGroups = (): KeyGroup[] => registered.map((entry) => entry()).filter(({ keys }) => keys.length > 0);

/** Listen to the keyboard. `everywhere` is the group whose keys work in dialogs too. Never while somebody types. */
export function useKeyboard(everywhere: string): void {
  const before = useRef({ name: "", at: 0 });
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      const target = event.target as HTMLElement;
      if (event.defaultPrevented || event.altKey || target.closest?.(FIELDS)) return;
      const name = nameOf(event);
      if (name === "space" && target.closest(PRESSABLE)) return; // it presses what has the focus
      const inDialog = target.closest("[role=dialog]") !== null;
      const { name: first, at } = before.current;
      const sequence = event.timeStamp - at < WAIT_MS ? `${first} ${name}` : "";
      const groups = keyGroups().reverse().filter((one) => one.group === everywhere || one.inDialog === inDialog);
      const found = find(groups, sequence) ?? find(groups, name);
      before.current = found ? { name: "", at: 0 } : { name, at: event.timeStamp };
      if (!found) return;
      event.preventDefault();
      found.run();
    }
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [everywhere]);
}

const find = (groups: KeyGroup[], press: string) => groups.flatMap(({ keys }) => keys).find((key) => key.press === press);

function nameOf(event: KeyboardEvent): string {
  const name = event.key === " " ? "space" : event.key;
  return event.ctrlKey || event.metaKey ? `mod+${name.toLowerCase()}` : name;
}

/** Move the focus to the next (1) or the previous (-1) row of the list: elements with the class `row` or `data-row`. */
export function moveFocus(step: 1 | -1): void {
  const focused = document.activeElement;
  const list = focused?.closest("[role=dialog]") ?? document.querySelector("main");
  const rows = [...(list?.querySelectorAll<HTMLElement>(".row, [data-row]") ?? [])].filter((row) => row.offsetParent);
  const at = rows.findIndex((row) => row.contains(focused));
  const row = rows[at < 0 ? 0 : at + step];
  const target = row?.matches("a, button, [tabindex]") ? row : row?.querySelector<HTMLElement>("a, button, [tabindex]");
  target?.focus();
}

/** Put the focus into the screen's first filter. */
export function focusFilter(): void {
  document.querySelector<HTMLElement>("[role=search] input, [role=search] select")?.focus();
}
