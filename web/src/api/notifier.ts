import { agentName } from "../parts/agents";
import type { Hub, Told } from "./hub";

const REMEMBERED = 500;

interface Opened {
  question_id: string;
  tool_name?: string;
  agent?: string;
  project?: string;
}

async function ask(question: string): Promise<boolean> {
  const answer = await fetch(`/approvals/${encodeURIComponent(question)}`);
  return answer.ok && ((await answer.json()) as { may_answer: boolean }).may_answer;
}

/** Shows one desktop notification per question that waits for this browser's person, where they have allowed it. */
export class Notifier {
  user = "";
  private readonly shown = new Set<string>();
  private hub: Hub | undefined;
  private readonly mayAnswer: (question: string) => Promise<boolean>;

  constructor(mayAnswer = ask) {
    this.mayAnswer = mayAnswer;
  }

  follow(hub: Hub): void {
    if (this.hub) return;
    this.hub = hub;
    hub.observe((told) => void this.hear(told).catch(() => undefined)); // the list still shows it
  }

  private async hear(told: Told): Promise<void> {
    if (told.kind !== "event" || told.name !== "question.opened") return;
    const asked = JSON.parse(told.data) as Opened;
    // A request for an exception (`exc_`) is answered on another screen, by who has time.
    if (!this.user || asked.question_id.startsWith("exc_") || this.shown.has(asked.question_id)) return;
    this.shown.add(asked.question_id);
    if (this.shown.size > REMEMBERED) for (const oldest of [...this.shown].slice(0, REMEMBERED / 2)) this.shown.delete(oldest);
    // Its approvers alone are called: the user, the owner of the machine, or whom the rule names.
    if (await this.mayAnswer(asked.question_id)) this.show(asked);
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
