import { expect, test } from "vitest";
import { jsx, jsxs } from "../jsx/jsx-runtime";
import { visible } from "./visible";

test("characters that steer, turn or hide are escaped, and all others stay", () => {
  expect(visible("rm \u202eslaf\u200b\u009b\u001b[2J\u{e0041}\ud800")).toBe(
    "rm \\u202eslaf\\u200b\\u009b\\u001b[2J\\udb40\\udc41\\ud800",
  );
  expect(visible("a\tb\r\nc ü 漢 é 👍🏽")).toBe("a\tb\r\nc ü 漢 é 👍🏽");
});

test("every text and name of an element is made visible, and the value of a field is not", () => {
  const one = jsx("input", { title: "\u202e", value: "\u202e", children: "a\u200b" });
  expect(one).toHaveProperty("props", { title: "\\u202e", value: "\u202e", children: "a\\u200b" });
  expect(jsxs("p", { children: ["a\u200b", 7, ["\u202e"]] })).toHaveProperty("props.children", ["a\\u200b", 7, ["\\u202e"]]);
});
