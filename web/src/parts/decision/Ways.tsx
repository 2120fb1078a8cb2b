import "@mantine/core/styles/Modal.css";
import { Modal, NativeSelect, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body, type Decision } from "../../api/client";
import { meQuery, policiesQuery } from "../../api/queries";
import { deciding } from "../DecisionRow";
import { ReasonDialog } from "../ReasonDialog";
import { GrantForm } from "./GrantForm";
import type { Tier, Way } from "../layers";

/** The tiers that a reach of `policies.write` covers, the widest first. */
const TIERS: Record<string, readonly Tier[]> = { organisation: ["organisation", "team", "project", "user"], team: ["team", "project", "user"], own: ["user"] };

/** What somebody can do about a decision. Only ways that can be gone to their end are offered. */
export function Ways({ one, close }: { one: Decision; close: () => void }) {
  const me = useQuery(meQuery).data;
  const rules = useQuery(policiesQuery).data?.rules ?? [];
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<string>();
  const [asked, setAsked] = useState<"lift" | "exception">();
  const rights = me?.rights ?? {};
  const rule = deciding(one);
  const locked = rules.find(({ id }) => id === rule)?.locked ?? false;
  const stopped = one.effect === "deny" || one.effect === "ask";
  const tiers = TIERS[rights["policies.write"] ?? ""]?.filter((tier) => tier !== "project" || one.project) ?? [];
  const tier = (chosen ?? tiers[0]) as Tier;
  const names: Record<Tier, string> = { organisation: "the organisation", team: `team ${me?.team}`, project: `project ${one.project}`, user: "only me" };
  const write = (way: Way) =>
    void navigate({ to: "/policies/$tier", params: { tier }, search: { tab: "edit", from: one.id, way, ...(tier === "project" ? { name: one.project ?? "" } : {}) } });
  if (asked === "lift") return <GrantForm decisionId={one.id} close={close} />;
  if (asked === "exception") {
    return (
      <ReasonDialog
        title="Ask for an exception"
        text={`Why is this call needed? Who may grant an exception from ${rule} sees the call and your reason.`}
        submit="Ask"
        changes={["exceptions"]}
        close={close}
        run={(reason) => body(api.POST("/exceptions", { body: { decision_id: one.id, reason } }))}
      />
    );
  }
  const ways: [string, string, boolean, () => void][] = [
    ["Keep as a test", "A rule in shadow keeps this call as its test. It changes no decision.", tiers.length > 0, () => write("test")],
    [stopped ? "Write a stricter rule of my own" : "Stop such calls with a rule", "A new rule that refuses this call.", tiers.length > 0, () => write("own")],
    ["Change the rule", `A copy of ${rule} that lets this call through.`, stopped && !locked && tiers.length > 0, () => write("change")],
    ["Lift the rule for this session", `Until a time you choose, ${rule} does not stop calls of this shape in session ${one.session_id}.`, stopped && !locked && Boolean(one.session_id && rights["exceptions.grant"] && rights["exceptions.grant"] !== "own"), () => setAsked("lift")],
    ["Unlock the rule for a time", "Layers may loosen it until then.", stopped && locked && Boolean(rights["policies.unlock"]), () => void navigate({ to: "/modes", search: { tab: "unlocks", make: true } })],
    ["Ask for an exception", "Who may grant it sees the call and your reason.", stopped && !locked && Boolean(rights["exceptions.request"]), () => setAsked("exception")],
  ];
  return (
    <Modal opened onClose={close} title={stopped ? "What should change?" : "Make a rule of this call"} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="sm">
        {stopped && locked && <Text size="sm">{rule} is locked by the organisation: no layer and no exception loosens it.</Text>}
        {tiers.length > 1 && (
          <NativeSelect label="A rule applies to" data={tiers.map((value) => ({ value, label: names[value] }))} value={tier} onChange={(event) => setChosen(event.currentTarget.value)} />
        )}
        {ways
          .filter(([, , possible]) => possible)
          .map(([label, detail, , run]) => (
            <button key={label} type="button" className="panel card-link way" onClick={run}>
              <Text fw={600}>{label}</Text>
              <Text size="sm" className="muted">
                {detail}
              </Text>
            </button>
          ))}
      </Stack>
    </Modal>
  );
}
