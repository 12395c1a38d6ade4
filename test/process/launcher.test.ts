/** What the launcher and its process leave behind, and what they do when nobody is left to read or wait. */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, test } from "node:test";
import { bound } from "./bound-child.ts";
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

void test("the launcher runs the product in its own process, with the flags that an operator gives Node", () => {
  assert.equal(hostOf(["relay", "--help"]), "|");
  assert.equal(hostOf(["store", "--help"]), "|");
  const flags = ["--max-semi-space-size=9"];
  assert.equal(hostOf(["relay", "--help"], flags), "--max-semi-space-size=9|");
  assert.equal(hostOf(["relay", "--help"], [], "--max-semi-space-size=9"), "|");
  const guarded = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*"];
  // It starts no process, which Node's permissions forbid; Node warns of them itself.
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

test("a launcher that is killed outright leaves no server behind", async (t) => {
  if (process.platform === "win32") return t.skip("no signals of this kind on this host");
  const launcher = await startByOldHost(["store", "--memory", "--listen", "127.0.0.1:0"]);
  // The server holds the other ends of its output: they end with it, not with the launcher.
  const ended = Promise.all([launcher.stdout, launcher.stderr].map((out) => once(out, "close")));
  launcher.kill("SIGKILL");
  await ended;
});

for (const command of ["up", "store", "relay", "doctor"]) {
  test(`${command} --help whose reader goes away ends without a word`, async () => {
    const program = join(root, "bin", "pilothouse.mjs");
    const child = bound(spawn(process.execPath, [program, command, "--help"], { stdio: "pipe" }));
    child.stdout.destroy();
    const said: Buffer[] = [];
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    const [code] = (await once(child, "close")) as [number];
    assert.equal(Buffer.concat(said).toString(), "");
    assert.equal(code, process.platform === "win32" ? code : 141);
  });
}

test("a server whose reader goes away serves on, and stops as ever", async () => {
  const store = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
  store.child.stdout?.destroy();
  const before = store.output();
  assert.equal(await store.stop(), 0);
  assert.equal(store.output(), before, "nothing is logged about it");
});

/** As on a host whose Node is too old: the launcher starts the pinned one, and waits. */
async function startByOldHost(
  args: readonly string[],
): Promise<ChildProcessByStdio<null, Readable, Readable>> {
  const version = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})`;
  const old = ["--import", `data:text/javascript,${encodeURIComponent(version)}`];
  const all = [...old, join(root, "bin", "pilothouse.mjs"), ...args];
  const child = bound(spawn(process.execPath, all, { stdio: ["ignore", "pipe", "pipe"] }));
  const [printed] = (await Promise.race([
    once(child.stdout, "data"),
    once(child, "close"),
  ])) as unknown[];
  assert.match(String(printed), /^pilothouse .* ready in /);
  return child;
}
