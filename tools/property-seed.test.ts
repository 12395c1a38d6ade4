/** Property tests take the seed that a run prints, in a file of their own and in a room's bundle. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const printsSeed = 'import fc from "fast-check";\nconsole.log(fc.readConfigureGlobal().seed);\n';

for (const [name, text] of [
  ["alone.test.ts", printsSeed],
  ["bundle.test.mjs", 'await import("./joined.ts");\n'],
] as const) {
  test(`the samples of ${name} are those of the seed`, (t) => {
    mkdirSync(join(root, ".cache"), { recursive: true });
    // Inside of the checkout: fast-check is found from there.
    const folder = mkdtempSync(join(root, ".cache", "seed-"));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "joined.ts"), printsSeed);
    writeFileSync(join(folder, name), text);
    assert.equal(seedOf(join(folder, name)), "7");
  });
}

function seedOf(file: string): string {
  const env = { ...process.env, PILOTHOUSE_SEED: "7" };
  const args = ["--import", join(root, "tools", "property-seed.mjs"), file];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}
