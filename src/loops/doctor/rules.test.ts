/** The rules in docs/doctor.md are those of the code. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { rules } from "./rules.ts";

test("the documentation's table of rules is that of the code", () => {
  const page = readFileSync(new URL("../../../docs/doctor.md", import.meta.url), "utf8");
  const section = page.split("\n## ").find((part) => part.startsWith("Rules\n")) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const expected = rules.map(
    ({ id, threshold, source }) => `| \`${id}\` | ${threshold} | ${source} |`,
  );
  assert.deepEqual(rows, expected);
});
