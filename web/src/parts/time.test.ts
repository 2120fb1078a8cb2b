import { expect, test } from "vitest";
import { clock, when } from "./time";

const now = new Date(2026, 2, 4, 15, 30);

test.each([
  ["today", new Date(2026, 2, 4, 0, 0, 1), false],
  ["a minute before midnight", new Date(2026, 2, 3, 23, 59), true],
  ["a year ago", new Date(2025, 2, 4, 15, 30), true],
])("a moment of %s has its day only where it is another one", (_, at, hasDay) => {
  const shown = when(at.toISOString(), now);
  expect(shown === clock(at.toISOString())).toBe(!hasDay);
});
