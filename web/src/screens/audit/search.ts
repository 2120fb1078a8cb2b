export const FILTERS = ["kind", "object", "actor", "since", "until"] as const;
export type AuditSearch = Partial<Record<(typeof FILTERS)[number], string>>;
