/** The host of a role with its own process. */
import type { AssertionError } from "#base/assert.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { processTurns } from "#platform/node/http/process-turns.ts";
import { type LogLevel, nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { SupervisedHost } from "./host.ts";
import { supervised } from "./supervise.ts";

type NodeHost = SupervisedHost & { readonly disk: NodeDisk };

interface HostOptions {
  readonly logLevel: LogLevel;
}

/** Call once in a process, because the host's supervisor handles uncaught errors. */
export function nodeHost(options: HostOptions): NodeHost {
  return supervised(plainHost(options));
}

/** Returns the host of a thread other than the first one. `onBug` handles a bug. */
export function threadHost(options: HostOptions, onBug: (bug: AssertionError) => void): NodeHost {
  return supervised(plainHost(options), onBug);
}

function plainHost({ logLevel }: HostOptions) {
  return {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: nodeLog({ level: logLevel, destination: 2 }),
    requests: processTurns,
  };
}
