/** The scheduling queue as a script (`testdata/queue.txt`). */
import assert from "node:assert/strict";
import type { Pod } from "#api/gen/types.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { testScript } from "#platform/testing/script.ts";
import { podInfo } from "./pod-info.ts";
import { queueTimes, SchedulingQueue, type QueuedPod } from "./queue.ts";

function makePod(name: string, priority: number, gates: readonly string[]): Pod {
  const schedulingGates = gates.map((gate) => ({ name: gate }));
  const containers = [{ name: "main", image: "image" }];
  return {
    metadata: { name, namespace: "ns", uid: name },
    spec: { containers, priority, schedulingGates },
  };
}

/** Commands of the script. Each prints what it answers, and where Pods came in: `name: event -> place`. */
function queueCommands() {
  const clock = new FakeClock();
  let lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const incoming = (place: string, event: string): void => say(`  ${event} -> ${place}`);
  const queue = new SchedulingQueue({ clock, wake: () => {}, incoming }, queueTimes);
  const find = (name: string): QueuedPod => {
    const pod = queue.get(name);
    assert.ok(pod !== undefined, name);
    return pod;
  };
  const put = (name: string, priority: string, gates: readonly string[]): void =>
    queue.put(podInfo(makePod(name, Number(priority), gates)));
  const commands: Readonly<Record<string, (...args: string[]) => unknown>> = {
    add: (name = "", priority = "0") => put(name, priority, []),
    gate: (name = "") => put(name, "0", ["example.com/wait"]),
    delete: (name = "") => queue.delete(name),
    pop: () => say(`popped ${queue.pop()?.info.name ?? "nothing"}`),
    refuse: (name = "", plugin = "") => queue.refused(find(name), new Set([plugin]), "same"),
    fail: (name = "") => queue.failed(find(name)),
    event(name = "", _helps = "", plugin = "") {
      const mayHelp = (pod: QueuedPod): boolean => {
        say(`  asked for ${pod.info.name}`);
        return pod.rejectors.has(plugin);
      };
      queue.moveAllToActiveOrBackoffQueue(mayHelp, name);
    },
    advance: (ms) => clock.advance(Number(ms)),
    state() {
      const shown = Object.entries(queue.pendingCounts()).filter(([, count]) => count > 0);
      say(shown.map(([place, count]) => `${place}=${count}`).join(" ") || "empty");
    },
  };
  return async (command: string, args: readonly string[]): Promise<readonly string[]> => {
    lines = [];
    const run = commands[command];
    assert.ok(run !== undefined, command);
    await run(...args);
    return lines;
  };
}

testScript(new URL("testdata/queue.txt", import.meta.url), queueCommands);
