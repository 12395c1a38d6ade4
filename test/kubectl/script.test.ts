/** The script runner tells right output from wrong: without this no kubectl case means anything. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mismatch, parseScript } from "./script.ts";

test("a block is a comment, a command, expected lines and an exit code", () => {
  const [step] = parseScript("# shows\nkubectl get x\n----\nline 1\nline 2\nexit 3\n\n");
  assert.deepEqual(step, {
    line: 1,
    comment: "shows",
    command: "kubectl get x",
    expected: ["line 1", "line 2"],
    exitCode: 3,
  });
});

test("a block without expectation accepts any output and asks for exit code 0", () => {
  const [step] = parseScript("kubectl get x\n");
  assert.deepEqual([step?.expected, step?.exitCode], [["..."], 0]);
});

test("literal lines, patterns and gaps match", () => {
  assert.equal(mismatch(["a", "~ b+", "...", "z"], ["a", "bbb", "q", "q", "z"]), undefined);
});

test("a wrong, missing or extra line is a mismatch", () => {
  assert.match(mismatch(["a"], ["b"]) ?? "", /expected: a/);
  assert.match(mismatch(["a", "b"], ["a"]) ?? "", /missing line: b/);
  assert.match(mismatch(["a"], ["a", "b"]) ?? "", /unexpected line: b/);
  assert.match(mismatch(["...", "z"], ["a"]) ?? "", /nothing after/);
});
