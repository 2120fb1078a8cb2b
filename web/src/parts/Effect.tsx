import { IconAlertTriangle, IconBan, IconCheck, IconEyeOff, IconHelp, IconPencil, IconPoint } from "@tabler/icons-react";

const SHOWN: Record<string, { word: string; color: string; Icon: typeof IconCheck }> = {
  abstain: { word: "Allowed", color: "var(--allow)", Icon: IconCheck },
  allow: { word: "Allowed", color: "var(--allow)", Icon: IconCheck },
  ask: { word: "Asked", color: "var(--ask)", Icon: IconHelp },
  deny: { word: "Refused", color: "var(--deny)", Icon: IconBan },
  rewrite: { word: "Rewritten", color: "var(--rewrite)", Icon: IconPencil },
  guidance: { word: "Guided", color: "var(--accent)", Icon: IconPoint },
  shadow: { word: "Would refuse", color: "var(--shadow)", Icon: IconEyeOff },
  ran_anyway: { word: "Ran anyway", color: "var(--deny)", Icon: IconAlertTriangle },
  lifted: { word: "Lifted", color: "var(--shadow)", Icon: IconEyeOff },
};

/** What Baton did with a call: an icon and a word, so that colour alone never tells. */
export function Effect({ effect }: { effect: string }) {
  const { word, color, Icon } = SHOWN[effect] ?? { word: effect, color: "var(--muted)", Icon: IconPoint };
  return (
    <span className="effect" data-effect={effect} style={{ color }}>
      <Icon size={16} stroke={2} aria-hidden style={{ flex: "none" }} />
      {word}
    </span>
  );
}
