/** `npm run bench -- replicas`: see `usage`. */
import { availableParallelism } from "node:os";
import { findPeer, noPeer } from "../process/peers.ts";
import { flagsOf } from "./flags.ts";
import { failover } from "./replicas/failover.ts";
import { follower } from "./replicas/follower.ts";
import { join } from "./replicas/join.ts";
import { lists } from "./replicas/lists.ts";
import { partitions } from "./replicas/partitions.ts";
import { puts } from "./replicas/puts.ts";

const cases = { puts, failover, follower, join, lists, partitions };
const about: Readonly<Record<keyof typeof cases, string>> = {
  puts: "durable puts through our store, its log in an etcd of three members, beside that etcd's own",
  failover:
    "the holder of the log is killed, stopped well, paused: how long writes and a watch wait",
  follower: "consistent reads and watches at a follower, at 2,000 writes a second",
  lists: "lists at the holder, and spread over three replicas: what a byte costs the holder",
  partitions: "one log and two, in clusters of their own: what a put costs the busiest process",
  join: "a new replica over 100,000 objects: until it is ready, and what writes feel of it",
};

const usage = `npm run bench -- replicas [case ...] [--runs N] [--seconds N]

Replicas of "pilothouse store" over an etcd of three members, all on this machine. Cases:

${Object.entries(about)
  .map(([name, text]) => `  ${name.padEnd(12)}${text}`)
  .join("\n")}

  --runs N      runs of each figure, the median is shown (5)
  --seconds N   length of one run (3)

etcd is PILOTHOUSE_ETCD, or on the PATH.
`;

const flags = flagsOf(usage, { runs: "5", seconds: "3" }, { words: true });
const etcd = findPeer("etcd");
if (etcd === undefined) flags.refuse(noPeer("etcd"));
const unknown = flags.words.find((one) => !Object.hasOwn(cases, one));
if (unknown !== undefined) flags.refuse(`"${unknown}" is no case`);
const options = { etcd: etcd ?? "", runs: flags.number("runs"), seconds: flags.number("seconds") };
console.log(`${availableParallelism()} cores for all processes together, Node ${process.version}`);
for (const [name, run] of Object.entries(cases)) {
  if (flags.words.length === 0 || flags.words.includes(name)) await run(options);
}
