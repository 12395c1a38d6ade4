/** What the launcher leaves behind for the next start. */
import assert from "node:assert/strict";
import { readdirSync, watch } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import hostFlags from "../../bin/host-flags.json" with { type: "json" };
import { removeDirectory, root, temporaryDirectory } from "./harness.ts";
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

void test("a relay's host has the flags of its role, once, and what an operator set stays", () => {
  const flags = hostFlags.relay.join();
  const skip = process.platform === "win32";
  assert.equal(hostOf(["relay", "--help"]), skip ? "|" : `|${flags}|`);
  assert.equal(hostOf(["store", "--help"]), "|");
  assert.equal(
    hostOf(["relay", "--help"], ["--max-semi-space-size=9"]),
    "--max-semi-space-size=9|",
  );
  assert.equal(hostOf(["relay", "--help"], [], "--max_semi_space_size=9"), "|");
  const guarded = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*"];
  // It must start no process: it goes on as it is, after Node's own warning.
  assert.match(hostOf(["relay", "--help"], guarded), /^--permission,[^|]*\|[^|]*$/);
});

/** The flags of each Node that the launcher was, in turn. */
function hostOf(args: readonly string[], hostArgs: readonly string[] = [], options = ""): string {
  const tell = "data:text/javascript,process.stderr.write(process.execArgv.join()+'|')";
  const env = { ...process.env, NODE_OPTIONS: `${options} --import ${tell}` };
  const all = [...hostArgs, join(root, "bin", "pilothouse.mjs"), ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, all, { env, encoding: "utf8" });
  assert.equal(status, 0);
  assert.match(stdout, /^Usage: pilothouse (relay|store)/);
  return stderr;
}

function compiled(): number {
  const found = readdirSync(cache, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).length;
}
