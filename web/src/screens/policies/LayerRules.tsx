import { Button, Group } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { moment } from "../../parts/time";
import type { Layer, Place } from "./queries";

/** The files of a layer's active version, to read. */
export function LayerRules({ place, layer }: { place: Place; layer: Layer | null }) {
  const edit = (file?: string) => ({
    to: "/policies/$tier" as const,
    params: { tier: place.tier },
    search: { tab: "edit" as const, ...(place.name ? { name: place.name } : {}), ...(file ? { file } : {}) },
  });
  if (!layer) {
    return (
      <div className="panel">
        <p style={{ marginTop: 0 }}>No own rules: the layers above apply. Make a rule from a decision, or write one.</p>
        <Group gap="xs" className="narrow-hidden">
          <Button component={Link} to="/decisions" variant="default">
            Look at decisions
          </Button>
          <Button renderRoot={(props) => <Link {...edit()} {...props} />} leftSection={<IconPencil size={16} aria-hidden />}>
            Write a rule
          </Button>
        </Group>
      </div>
    );
  }
  return (
    <section aria-label="Files in force">
      <p className="note">
        Version {layer.version} is in force since {moment(layer.activated_at ?? layer.created_at)}, written by {layer.created_by}
        {layer.reason && `: ${layer.reason}`}.
      </p>
      {Object.entries(layer.files).map(([path, text]) => (
        <details key={path} className="panel" style={{ padding: 12, marginBottom: 8 }}>
          <summary className="mono">{path}</summary>
          <pre className="code">{text}</pre>
          <Link {...edit(path)} className="narrow-hidden">
            Edit {path}
          </Link>
        </details>
      ))}
    </section>
  );
}
