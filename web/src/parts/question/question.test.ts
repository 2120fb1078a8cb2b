import { expect, test } from "vitest";
import { inTurn, ofApproval, type Question } from "./question";

type Asked = Parameters<typeof ofApproval>[0];

const asked = (given: Partial<Asked>) => ofApproval({ approvers: ["self"], user: "ann", edits: [], ...given } as Asked);
const question = (id: string, since: string, mayAnswer: boolean) => ({ id, since, mayAnswer }) as Question;

test("what the reader may answer comes first, the oldest ahead", () => {
  const found = [question("b", "1", false), question("c", "3", true), question("a", "2", true)].sort(inTurn);
  expect(found.map(({ id }) => id)).toEqual(["a", "c", "b"]);
});

test("a call with a command is shown with its folder and all other input", () => {
  const given = { command: "ls", input: "{}", others: '{"host":"db1"}', folder: "/repo/api", project: "/repo", workspace: "" };
  expect(asked(given)).toMatchObject({ input: '{"host":"db1"}', workspace: "/repo/api" });
  expect(asked({ ...given, command: "", folder: "/repo" })).toMatchObject({ input: "{}", workspace: "" });
});

test("who alone may answer is named", () => {
  expect(asked({ approvers: ["self", "lead", "user:bob"] }).answerer).toBe("ann or a lead or bob");
});
