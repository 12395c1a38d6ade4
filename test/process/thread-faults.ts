/**
 * A module that a server under test loads first. Each thread reports its start, and ends or stands still on a message.
 * The first thread passes these messages on from the process that started it.
 */
import { assert } from "#base/assert.ts";
import { isMainThread, threadId } from "node:worker_threads";

export type Fault = "bug" | "stand";

interface ToThread {
  readonly to: number;
  readonly fault: Fault;
}

interface Born {
  readonly born: number;
}

const channel = new BroadcastChannel("thread-faults");

if (isMainThread) {
  process.on("message", (message: ToThread) => channel.postMessage(message));
  channel.onmessage = (event) => void process.send?.((event as unknown as { data: Born }).data);
  process.channel?.unref();
} else {
  channel.onmessage = (event) => {
    const { to, fault } = (event as unknown as { data: ToThread }).data;
    if (to !== threadId) return;
    if (fault === "stand") for (;;);
    setImmediate(() => assert(false, "planted"));
  };
  channel.postMessage({ born: threadId } satisfies Born);
}
channel.unref();
