/** A process with much memory off the heap is not stopped for a collection every few megabytes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { execPath } from "node:process";
import { test } from "node:test";
import { offHeapFlag } from "./heap.ts";

const blocks = 800;

/** Counts full collections while blocks of a megabyte are allocated and kept. */
function collections(prepare: string): number {
  const module = new URL("./heap.ts", import.meta.url).href;
  const script = `import { countOffHeapWithHeap } from ${JSON.stringify(module)};
    ${prepare}
    const kept = [];
    for (let i = 0; i < ${blocks}; i++) {
      kept.push(new Uint8Array(2 ** 20));
      if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }`;
  const args = ["--trace-gc", "--input-type=module", "--eval", script];
  const { stdout, status } = spawnSync(execPath, args, { encoding: "utf8" });
  assert.equal(status, 0);
  return stdout.split("Mark-Compact").length - 1;
}

void test("the host knows the flag", () => {
  const { stdout } = spawnSync(execPath, ["--v8-options"], { encoding: "utf8" });
  assert.ok(stdout.includes(offHeapFlag));
});

void test("memory off the heap, counted with the heap, causes fewer collections", () => {
  const before = collections("");
  const after = collections("countOffHeapWithHeap();");
  assert.ok(after < before * 0.75, `${before} before, ${after} after`);
});
