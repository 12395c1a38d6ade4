/** The host of a role that has a process of its own. */
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

/** Call once in a process: uncaught errors go to its supervisor. */
export function nodeHost(options: HostOptions): NodeHost {
  return supervised(plainHost(options));
}

/** The same of a thread that is not the first one: a bug is `onBug`'s to end. */
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
