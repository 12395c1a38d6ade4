/** On the real host: garbage and freed memory are given back, in silence. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { execPath, platform } from "node:process";
import { test } from "node:test";

/** Small arrays, most of them garbage, with survivors in between: no end of the allocator's heap to trim. */
function residentMb(rounds: string): { readonly mb: number; readonly printed: string } {
  const module = new URL("./spare-memory.ts", import.meta.url).href;
  const script = `import { nodeMemory } from ${JSON.stringify(module)};
    let all = Array.from({ length: 120_000 }, () => new Uint8Array(1024).fill(1));
    const kept = all.filter((_, at) => at % 64 === 0);
    all = undefined;
    ${rounds}
    console.log(Math.round(nodeMemory.residentBytes() / 1e6), kept.length);`;
  const args = ["--input-type=module", "--eval", script];
  const { stdout, stderr, status } = spawnSync(execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { mb: Number(stdout.split(" ")[0]), printed: stderr };
}

const skip = platform !== "linux" && "the allocator is asked on Linux only";

test("what became garbage is not resident any more, and nobody is warned", { skip }, () => {
  const before = residentMb("");
  const after = residentMb(`
    // V8 begins when it has been asked for ten seconds; nothing else keeps this process.
    const alive = setInterval(() => {}, 1000);
    // Array buffers are freed in the background; the second collection begins after that.
    for (let i = 0; i < 2; i++) await nodeMemory.collectInSteps(true);
    nodeMemory.trim();
    clearInterval(alive);`);
  assert.ok(after.mb < before.mb - 60, `${before.mb} MB before, ${after.mb} MB after`);
  assert.equal(after.printed, "");
});

test(
  "large blocks are given back at once when the allocator was told to keep little",
  { skip },
  () => {
    const module = new URL("./spare-memory.ts", import.meta.url).href;
    const left = (first: string): number => {
      const script = `import { keepLittleFreeMemory } from ${JSON.stringify(module)};
      ${first}
      const made = (bytes) => new Uint8Array(bytes).fill(1);
      // By default, glibc maps only larger blocks by themselves once one of this size was freed.
      made(20 * 2 ** 20);
      gc(); gc();
      // With a small one in use behind each: the large ones are not at the end of the allocator's heap.
      let pairs = Array.from({ length: 120 }, () => [made(2 ** 20), made(100_000)]);
      const kept = pairs.map(([, small]) => small);
      pairs = undefined;
      gc(); gc();
      console.log(Math.round(process.memoryUsage.rss() / 1e6), kept.length);`;
      const args = ["--expose-gc", "--input-type=module", "--eval", script];
      const { stdout, stderr, status } = spawnSync(execPath, args, { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      return Number(stdout.split(" ")[0]);
    };
    const [told, untold] = [left("keepLittleFreeMemory();"), left("")];
    assert.ok(told < untold - 60, `${told} MB, and ${untold} MB when it was not told`);
  },
);
