/** The work queue as a script (`testdata/workqueue.txt`), and its workers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tooManyRequests } from "#api/status.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { testScript } from "#platform/testing/script.ts";
import { runWorkers } from "./run-workers.ts";
import { WorkQueue, type WorkQueueMetrics } from "./workqueue.ts";

function setup() {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, log: silentLog }, { name: "test" });
  return { clock, queue, stop: new AbortController() };
}

/** Commands of the script; each prints what it tells its caller. */
function queueCommands() {
  const clock = new FakeClock();
  let lines: string[] = [];
  let isObserved = false;
  const say = (line: string): void => void lines.push(line);
  const hear = (line: string): void => void (isObserved && say(`  ${line}`));
  const observer = {
    added: () => hear("added"),
    taken: (ms: number) => hear(`taken after ${ms} ms`),
    done: (ms: number) => hear(`done after ${ms} ms`),
    retried: () => hear("retried"),
  };
  const queue = new WorkQueue({ clock, log: silentLog, observer }, { name: "test" });
  const wait = async (): Promise<void> => say(`got ${(await queue.take()) ?? "the end"}`);
  const isEmpty = (): boolean => queue.metrics().waiting === 0;
  const commands: Readonly<Record<string, (...args: string[]) => unknown>> = {
    observe: () => (isObserved = true),
    add: (...keys) => keys.forEach((key) => queue.add(key)),
    after: (ms, key = "") => queue.addAfter(key, Number(ms)),
    take: () => (isEmpty() ? say("nothing waits") : wait()),
    wait: () => void wait(),
    done: (key = "") => queue.done(key),
    fail(key = "", times = "1") {
      for (let n = 1; n < Number(times); n++) queue.failed(key);
      const delayMs = queue.failed(key);
      queue.addAfter(key, delayMs);
      say(`again after ${delayMs} ms`);
    },
    forget: (key = "") => queue.forget(key),
    advance: (ms) => clock.advance(Number(ms)),
    close: () => queue.close(),
    state: () => say(printState(queue.metrics())),
  };
  return async (command: string, args: readonly string[]): Promise<readonly string[]> => {
    lines = [];
    const run = commands[command];
    assert.ok(run !== undefined, command);
    await run(...args);
    await settle();
    return lines;
  };
}

function printState(state: WorkQueueMetrics): string {
  const shown = Object.entries(state).filter(([, value]) => value !== 0);
  return shown.map(([name, value]) => `${name}=${value}`).join(" ");
}

testScript(new URL("testdata/workqueue.txt", import.meta.url), queueCommands);

test("a key under work is never given out twice; added meanwhile it comes once more", async () => {
  const { clock, queue, stop } = setup();
  const seen: string[] = [];
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const running = runWorkers(
    queue,
    4,
    async (key) => {
      seen.push(key);
      await gate;
    },
    stop.signal,
  );
  queue.add("a");
  await settle();
  queue.add("a");
  queue.add("a");
  await settle();
  assert.deepEqual(seen, ["a"]);
  open();
  await clock.advance(0);
  assert.deepEqual(seen, ["a", "a"]);
  stop.abort();
  await running;
});

test("a failed key is tried again after its backoff, or after what a 429 asked for", async () => {
  const { clock, queue, stop } = setup();
  const at: number[] = [];
  const errors: (Error | undefined)[] = [new Error("bad"), tooManyRequests("busy", 2), undefined];
  const running = runWorkers(
    queue,
    1,
    async () => {
      at.push(clock.monotonicMs());
      const error = errors.shift();
      if (error !== undefined) throw error;
    },
    stop.signal,
  );
  queue.add("a");
  await clock.advance(5_000);
  assert.deepEqual(at, [0, 5, 2_005]);
  assert.equal(queue.metrics().failing, 0);
  stop.abort();
  await running;
});
