/** The host clock as promised: never early, never stuck, and no reason for a process to live on. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { NodeClock } from "./clock.ts";

const here = new URL("./clock.ts", import.meta.url).href;

/** What a fresh process with nothing else to do prints. */
function printed(program: string): string {
  const source = `import { NodeClock } from ${JSON.stringify(here)};\n${program}`;
  const args = ["--input-type=module", "--eval", source];
  return spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 }).stdout;
}

void describe("the host's clock", () => {
  void it("fires a timer without delay in an otherwise idle process at once", () => {
    // The interval stands for a server that waits for its next request.
    const program = `
      const start = performance.now();
      const idle = setInterval(() => {}, 5_000);
      setTimeout(() => new NodeClock().after("relay.drain", 0, () => {
        console.log(performance.now() - start < 2_000 ? "at once" : "late");
        clearInterval(idle);
      }), 20);`;
    assert.equal(printed(program), "at once\n");
  });

  void it("does not keep a process alive with its timers", () => {
    const program = `new NodeClock().after("relay.drain", 60_000, () => console.log("fired"));`;
    assert.equal(printed(program), "");
  });

  void it("never fires early, and not at all once canceled", async () => {
    const clock = new NodeClock();
    const dueMs = clock.monotonicMs() + 5;
    const canceled = clock.after("relay.drain", 1, () => assert.fail("was canceled"));
    canceled.cancel();
    await new Promise<void>((resolve) => {
      const alive = setInterval(() => {}, 1_000);
      clock.after("relay.drain", 5, () => {
        clearInterval(alive);
        resolve();
      });
    });
    assert.ok(clock.monotonicMs() >= dueMs);
  });
});
