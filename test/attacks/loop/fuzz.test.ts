/** A short run of the fuzzer for time, by the seed of the sources: no decoder takes more per byte than it may. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../process/harness.ts";

test("no body that is grown by grammar costs a decoder more than its microseconds a byte", () => {
  const program = join(root, "test", "attacks", "fuzz", "main.ts");
  const run = spawnSync(process.execPath, [program, "40"], { encoding: "utf8" });
  assert.equal(run.status, 0, `${run.stdout}${run.stderr}`);
  for (const decoder of ["json", "typed json", "protobuf", "yaml"]) {
    assert.match(run.stdout, new RegExp(`^${decoder}: 40 inputs, at most `, "m"));
  }
});
