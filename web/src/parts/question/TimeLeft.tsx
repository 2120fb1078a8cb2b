import { IconClock } from "@tabler/icons-react";
import { useEffect, useState } from "react";

/** How long a question may still be answered; after that it is denied. */
export function TimeLeft({ until }: { until: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((Date.parse(until) - now) / 1_000));
  const shown = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return (
    <span className="clock" data-soon={seconds < 60}>
      <IconClock size={16} aria-hidden /> {seconds > 0 ? `${shown} left` : "Time is over"}
    </span>
  );
}
