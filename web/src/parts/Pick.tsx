import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/ScrollArea.css";
import { Autocomplete, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Kind, knownQuery } from "./known";

interface Props {
  label: string;
  kind: Kind;
  value: string;
  onChange: (value: string) => void;
  /** Whether a name that is not in the list may be typed too, such as a glob. */
  loose?: boolean;
  /** Further choices above the known names. */
  more?: readonly string[];
  required?: boolean;
  placeholder?: string | undefined;
  description?: string;
  w?: number;
}

const SHOWN = 50;

/** A field in which a known name is picked: typing narrows the list. The names are loaded when it gets the focus. */
export function Pick({ kind, value, onChange, loose = false, more = [], ...props }: Props) {
  const [asked, setAsked] = useState(false);
  const { data = [], isFetching } = useQuery({ ...knownQuery(kind), enabled: asked });
  const names = [...new Set([...more, ...data, ...(value && !loose ? [value] : [])])];
  const common = { ...props, data: names, limit: SHOWN, onFocus: () => setAsked(true), comboboxProps: { width: "max-content", position: "bottom-start" } as const };
  if (loose) return <Autocomplete {...common} value={value} onChange={onChange} />;
  return (
    <Select
      {...common}
      searchable
      clearable={!props.required}
      clearButtonProps={{ "aria-label": `Clear ${props.label}` }}
      nothingFoundMessage={isFetching ? "Loading…" : `Unknown ${kind}.`}
      value={value || null}
      onChange={(one) => onChange(one ?? "")}
    />
  );
}
