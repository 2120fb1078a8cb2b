import { agentName } from "../parts/agents";
import type { Hub, Told } from "./hub";

const REMEMBERED = 500;

interface Opened {
  question_id: string;
  user?: string;
  runner_user?: string;
  tool_name?: string;
  agent?: string;
  project?: string;
}

/** Shows one desktop notification per question that waits for this browser's person, where they have allowed it. */
export class Notifier {
  user = "";
  private readonly shown = new Set<string>();
  private hub: Hub | undefined;

  follow(hub: Hub): void {
    if (this.hub) return;
    this.hub = hub;
    hub.observe((told) => this.hear(told));
  }

  private hear(told: Told): void {
    if (told.kind !== "event" || told.name !== "question.opened") return;
    const asked = JSON.parse(told.data) as Opened;
    // A job's agent asks the owner of its machine, a session its own user; a lead hears of it, and need not be called.
    if (!this.user || (asked.runner_user || asked.user) !== this.user || this.shown.has(asked.question_id)) return;
    this.shown.add(asked.question_id);
    if (this.shown.size > REMEMBERED) for (const oldest of [...this.shown].slice(0, REMEMBERED / 2)) this.shown.delete(oldest);
    this.show(asked);
  }

  private show({ question_id, agent, tool_name, project }: Opened): void {
    if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
    try {
      const note = new Notification(`${agentName(agent || "An agent")} asks: ${tool_name || "a call"}`, {
        body: project ?? "",
        tag: question_id,
        icon: "/ui/baton.svg",
      });
      note.onclick = () => {
        note.close();
        this.hub?.tellOne({ kind: "open", question: question_id });
      };
    } catch {
      // Chrome on Android has notifications of service workers alone.
    }
  }
}
