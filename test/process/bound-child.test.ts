/** A test or a soak that fails leaves no process behind. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

const module = new URL("bound-child.ts", import.meta.url).href;

for (const end of ["throw new Error('a fault')", "process.kill(process.pid, 'SIGTERM')"]) {
  test(`what it started ends with a program that ends by: ${end}`, async () => {
    const program = `
      import { spawn } from "node:child_process";
      import { bound } from ${JSON.stringify(module)};
      const child = bound(spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]));
      console.log(child.pid);
      setTimeout(() => { ${end} }, 50);`;
    const args = ["--input-type=module", "-e", program];
    const started = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    started.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(started, "close")) as [number];
    assert.notEqual(code, 0);
    const pid = Number(said);
    assert.ok(pid > 0, said);
    while (isThere(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
}

test("a signal ends what was started first, then runs the listeners, and a second one does not cut them short", async () => {
  const program = `
    import { spawn } from "node:child_process";
    import { writeSync } from "node:fs";
    import { bound, watchEnd } from ${JSON.stringify(module)};
    let child;
    process.once("exit", () => {
      process.kill(process.pid, "SIGINT");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      writeSync(1, child === undefined ? "none was there" : "killed: " + child.killed);
    });
    watchEnd();
    if (process.argv[1] === "child") child = bound(spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]));
    setInterval(() => {}, 1000);
    setTimeout(() => process.kill(process.pid, "SIGINT"), 50);`;
  for (const [argument, expected] of [
    ["none", "none was there"],
    ["child", "killed: true"],
  ] as const) {
    const args = ["--input-type=module", "-e", program, argument];
    const started = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    started.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(started, "close")) as [number];
    assert.equal(code, 130);
    assert.equal(said, expected);
  }
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
