type Fields = Record<string, unknown>;

/** One field of an object that was changed; undefined where there was nothing, or is nothing now. */
export interface FieldChange {
  name: string;
  before: string | undefined;
  after: string | undefined;
}

/** The fields in which two objects differ, by name; a field of fields is followed to its leaves. */
export function changes(before: Fields, after: Fields): FieldChange[] {
  const [old, now] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort()
    .map((name) => ({ name, before: old.get(name), after: now.get(name) }))
    .filter((one) => one.before !== one.after);
}

function leaves(fields: Fields, prefix = ""): Map<string, string> {
  return new Map(
    Object.entries(fields).flatMap(([name, value]): [string, string][] => {
      const path = prefix ? `${prefix}.${name}` : name;
      if (value !== null && typeof value === "object" && !Array.isArray(value)) return [...leaves(value as Fields, path)];
      return [[path, typeof value === "string" ? value : JSON.stringify(value)]];
    }),
  );
}
