import {
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClockPause,
  IconHelpCircle,
  IconLock,
  IconPlayerPlay,
  IconPlayerSkipForward,
} from "@tabler/icons-react";

const SHOWN: Record<string, { word: string; color: string; Icon: typeof IconBan }> = {
  pending_approval: { word: "Waits for approval", color: "var(--ask)", Icon: IconHelpCircle },
  blocked: { word: "Waits for another", color: "var(--muted)", Icon: IconLock },
  pending: { word: "Not started", color: "var(--muted)", Icon: IconCircleDashed },
  queued: { word: "Queued", color: "var(--muted)", Icon: IconClockPause },
  leased: { word: "Starting", color: "var(--accent)", Icon: IconPlayerPlay },
  running: { word: "Running", color: "var(--accent)", Icon: IconPlayerPlay },
  awaiting_permission: { word: "Asks you", color: "var(--ask)", Icon: IconHelpCircle },
  completed: { word: "Completed", color: "var(--allow)", Icon: IconCircleCheck },
  failed: { word: "Failed", color: "var(--deny)", Icon: IconCircleX },
  cancelled: { word: "Cancelled", color: "var(--muted)", Icon: IconBan },
  skipped: { word: "Skipped", color: "var(--muted)", Icon: IconPlayerSkipForward },
};

const ENDED = new Set(["completed", "failed", "cancelled", "skipped"]);

/** Whether a job, or a task, has ended. */
export const hasEnded = (state: string) => ENDED.has(state);

/** Why a queued job has not started, where a runner is what it needs. */
const WAITS: Record<string, string> = { no_runner: "Waits for a runner", runner_offline: "Waits for its runner", not_served: "Waits for a runner", slots_busy: "Waits for a slot", folder_busy: "Waits for its folder", frozen: "Frozen" };

/** How a job or a graph's task stands: an icon and a word. */
export function JobState({ state, waiting }: { state: string; waiting?: string | undefined }) {
  const { word: usual, color, Icon } = SHOWN[state] ?? { word: state, color: "var(--muted)", Icon: IconCircleDashed };
  const word = (state === "queued" && WAITS[waiting ?? ""]) || usual;
  return (
    <span className="effect" data-state={state} style={{ color }}>
      <Icon size={16} stroke={2} aria-hidden style={{ flex: "none" }} />
      {word}
    </span>
  );
}
