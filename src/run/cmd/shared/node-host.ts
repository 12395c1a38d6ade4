/** The host of a role that has a process of its own. */
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { processTurns } from "#platform/node/http/process-turns.ts";
import { type LogLevel, nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { SupervisedHost } from "./host.ts";
import { supervised } from "./supervise.ts";

/** Call once in a process: uncaught errors go to its supervisor. */
export function nodeHost({ logLevel }: { readonly logLevel: LogLevel }): SupervisedHost & {
  readonly disk: NodeDisk;
} {
  return supervised({
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: nodeLog({ level: logLevel, destination: 2 }),
    requests: processTurns,
  });
}
