import { Badge } from "@mantine/core";

const TIERS: Record<string, { tier: string; colour: string }> = {
  haiku: { tier: "cheap", colour: "var(--allow)" },
  sonnet: { tier: "medium", colour: "var(--accent)" },
  opus: { tier: "expensive", colour: "var(--rewrite)" },
  fable: { tier: "expensive", colour: "var(--rewrite)" },
};

/** A model with its cost tier: green is cheap, blue medium, purple expensive. */
export function ModelTier({ model }: { model: string }) {
  const found = TIERS[model];
  if (!found) return <>{model}</>;
  return (
    <Badge variant="outline" styles={{ root: { textTransform: "none", minWidth: "max-content", color: found.colour, borderColor: found.colour } }} data-tier={found.tier}>
      {model}<span className="narrow-hidden"> · {found.tier}</span>
    </Badge>
  );
}
