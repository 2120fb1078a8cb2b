import { IconAlertTriangle, IconCircleCheck, IconCircleMinus } from "@tabler/icons-react";
import type { ReactNode } from "react";

const SHOWN = {
  good: { color: "var(--allow)", Icon: IconCircleCheck },
  bad: { color: "var(--deny)", Icon: IconAlertTriangle },
  idle: { color: "var(--muted)", Icon: IconCircleMinus },
} as const;

/** How something is, by an icon and a word. */
export function State({ is, children }: { is: keyof typeof SHOWN; children: ReactNode }) {
  const { color, Icon } = SHOWN[is];
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 6, verticalAlign: "top", color, fontWeight: 500 }}>
      <Icon size={16} aria-hidden style={{ flex: "none" }} />
      {children}
    </span>
  );
}
