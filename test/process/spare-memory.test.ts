/** Each role that has a process of its own looks at its memory. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { removeDirectory, root, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";
import { startStore } from "./store-harness.ts";

const preload = pathToFileURL(join(root, "test", "process", "quick-memory-looks.ts")).href;
const environment = { NODE_OPTIONS: `--import=${preload}` };

/** The ids of the processes that have given memory back, once they are `count`. */
async function givers(
  running: { readonly child: ChildProcess; output(): string },
  count: number,
): Promise<ReadonlySet<number>> {
  const found = (): Set<number> =>
    new Set(
      [...running.output().matchAll(/memory of (\d+) is given back/g)].map(([, pid]) =>
        Number(pid),
      ),
    );
  if (found().size >= count) return found();
  return new Promise((resolve, reject) => {
    running.child.stdout?.on("data", () => {
      if (found().size >= count) resolve(found());
    });
    running.child.on("exit", (code) => {
      reject(new Error(`ended with ${code}:\n${running.output()}`));
    });
  });
}

describe("memory is given back by", { timeout: 60_000 }, () => {
  let directory: string;
  let plane: Running;

  before(async () => {
    directory = temporaryDirectory("spare-memory");
    const data = join(directory, "plane");
    plane = await startUp(["--data-dir", data, "--port", "0", "--nodes", "0"], environment);
  });

  after(async () => {
    await plane?.stop();
    removeDirectory(directory);
  });

  function relay(name: string, ...args: readonly string[]): Promise<RunningRelay> {
    const pki = join(directory, "plane", "pki");
    const all = ["--resources", "configmaps", ...args];
    return startRelay({
      kubeconfig: plane.kubeconfig,
      directory,
      name,
      pki,
      args: all,
      environment,
    });
  }

  test("a plane", async () => {
    assert.deepEqual(await givers(plane, 1), new Set([plane.pid]));
  });

  test("a relay", async () => {
    const running = await relay("alone");
    assert.deepEqual(await givers(running, 1), new Set([running.pid]));
    await running.stop();
  });

  test("a relay's owner and its serving worker", async () => {
    const running = await relay("owner", "--serving-workers", "1");
    assert.ok((await givers(running, 2)).has(running.pid));
    await running.stop();
  });

  test("a store", async () => {
    const args = ["--memory", "--data-dir", join(directory, "store"), "--listen", "127.0.0.1:0"];
    const running = await startStore(args, ["env", `NODE_OPTIONS=${environment.NODE_OPTIONS}`]);
    assert.deepEqual(await givers(running, 1), new Set([running.child.pid]));
    await running.stop();
  });
});
