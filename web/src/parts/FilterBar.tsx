import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { type ReactNode, useEffect, useState } from "react";
import type { Kind } from "./known";
import { Pick } from "./Pick";
import { asField, fromField, type Range, SPANS } from "./time";
import { Views } from "./Views";

export interface Field {
  name: string;
  label: string;
  /** The kind of name to pick, or the choices; a text without. */
  of?: Kind | readonly { value: string; label: string }[];
  placeholder?: string;
}

type Filters = Record<string, string | boolean | undefined>;

interface Props {
  fields: readonly Field[];
  /** Fields that are folded away until one of them is set. */
  more?: readonly Field[];
  /** The filters as the page's address holds them. */
  filters: object;
  set: (filters: Record<string, string | undefined>) => void;
  clear: () => void;
  /** The span in force while none is chosen: none by default. */
  span?: keyof typeof SPANS;
  timed?: boolean;
  children?: ReactNode;
}

const TYPING_MS = 250;
const WIDTH = 150;

/** The filters of a list. They are in the page's address and apply while one types; a view of them can be kept and sent. */
export function FilterBar({ fields, more = [], filters, set, clear, span, timed = true, children }: Props) {
  const given = filters as Filters;
  const shown = (field: Field) => <One key={field.name} field={field} value={String(given[field.name] ?? "")} set={(value) => set({ [field.name]: value || undefined })} />;
  return (
    <Group gap="sm" role="search" align="end">
      {fields.map(shown)}
      {timed && <TimeRange range={given as Range} set={(range) => set({ ...range })} span={span} />}
      {children}
      {more.length > 0 && (
        <details open={more.some(({ name }) => given[name])}>
          <summary>More filters</summary>
          <Group gap="sm" align="end">
            {more.map(shown)}
          </Group>
        </details>
      )}
      <Group gap="xs">
        {Object.values(given).some(Boolean) && (
          <Button variant="default" onClick={clear}>
            Clear filters
          </Button>
        )}
        <Views />
      </Group>
    </Group>
  );
}

function One({ field: { name, label, of, placeholder }, value, set }: { field: Field; value: string; set: (value: string) => void }) {
  if (typeof of === "string") return <Pick label={label} kind={of} value={value} onChange={set} placeholder={placeholder} w={WIDTH} />;
  if (of) return <NativeSelect label={label} data={[...of]} value={value} onChange={(event) => set(event.currentTarget.value)} />;
  return <TextFilter label={label} placeholder={placeholder} value={value} set={set} w={name === "q" ? 190 : WIDTH} />;
}

/** A text that filters while one types. */
export function TextFilter({ label, placeholder, value, set, w }: { label: string; placeholder?: string | undefined; value: string; set: (value: string) => void; w?: number }) {
  const [text, setText] = useState(value);
  const send = useDebouncedCallback(set, TYPING_MS);
  // What came from elsewhere, as when the filters are cleared.
  useEffect(() => setText((before) => (before.trim() === value ? before : value)), [value]);
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={text}
      w={w}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value.trim());
      }}
      onKeyDown={(event) => event.key === "Enter" && set(text.trim())}
    />
  );
}

/** A time range: a span up to now, or from one moment to another. */
export function TimeRange({ range, set, span }: { range: Range; set: (range: Range) => void; span?: keyof typeof SPANS | undefined }) {
  const { since = "", until = "" } = range;
  const [choosing, setChoosing] = useState(false);
  const custom = choosing || until !== "" || (since !== "" && !(since in SPANS));
  const field = (label: string, value: string, changed: (value: string | undefined) => void) => (
    <TextInput key={label} type="datetime-local" label={label} value={asField(value)} w={190} onChange={(event) => changed(fromField(event.currentTarget.value) ?? undefined)} />
  );
  return (
    <>
      <NativeSelect
        label="Time"
        data={[...(span ? [] : [{ value: "", label: "Any time" }]), ...Object.entries(SPANS).map(([value, label]) => ({ value, label })), { value: "custom", label: "From … to …" }]}
        value={custom ? "custom" : since || span || ""}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setChoosing(value === "custom");
          if (value !== "custom") set({ since: value === span ? undefined : value || undefined, until: undefined });
        }}
      />
      {custom && field("Since", since in SPANS ? "" : since, (value) => set({ since: value, until: range.until }))}
      {custom && field("Until", until, (value) => set({ since: range.since, until: value }))}
    </>
  );
}
