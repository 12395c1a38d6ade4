/** The long commands of development say what they take, and refuse in one line what they do not. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./harness.ts";

const commands = ["up", "store", "fanout", "poll", "herd", "crowd", "writes"]
  .map((name) => ["bench", name])
  .concat([["sim"], ["soak"], ["soak", "churn"], ["differential"]]);

for (const command of commands) {
  test(`${command.join(" ")}: --help teaches, an unknown flag is refused`, () => {
    const help = run([...command, "--help"]);
    assert.equal(help.code, 0, help.text);
    assert.match(help.text, /npm run [a-z]+ -- [^]*\n {2}\S+ .*\n/);
    const refused = run([...command, "--no-such-flag"]);
    assert.equal(refused.code, 2, refused.text);
    assert.match(refused.text, /--no-such-flag/);
    assert.doesNotMatch(refused.text, /\n\s+at /, "a stack is not for users");
  });
}

test("a benchmark that is none is told which there are", () => {
  assert.match(run(["bench", "nosuch"]).text, /one of up, store, fanout/);
});

test("a soak that is none is told which there are, and without a name it is the first", () => {
  assert.match(run(["soak", "nosuch"]).text, /one of relay, churn/);
  assert.match(run(["soak", "--help"]).text, /--kill-seconds/);
  assert.match(run(["soak", "churn", "--help"]).text, /--quiet-seconds/);
});

function run(words: readonly string[]): { code: number | null; text: string } {
  const file = join(root, "tools", "run.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...words], {
    encoding: "utf8",
    timeout: 120_000,
  });
  return { code: status, text: stdout + stderr };
}
