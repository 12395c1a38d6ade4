/** What the launcher leaves behind for the next start. */
import assert from "node:assert/strict";
import { readdirSync, watch } from "node:fs";
import { after, test } from "node:test";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { startStore } from "./store-harness.ts";

const cache = temporaryDirectory("compiled");
after(() => removeDirectory(cache));

test("a process that is killed outright leaves its compiled modules to the next", async () => {
  const kept = new Promise<void>((resolve) => {
    const watcher = watch(cache, { recursive: true }, () => {
      if (compiled() === 0) return;
      watcher.close();
      resolve();
    });
  });
  const store = await startStore(
    ["--memory", "--listen", "127.0.0.1:0"],
    ["env", `NODE_COMPILE_CACHE=${cache}`],
  );
  await kept;
  await store.kill();
  assert.ok(compiled() > 0);
});

function compiled(): number {
  const found = readdirSync(cache, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).length;
}
