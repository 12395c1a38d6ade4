/**
 * `npm run bench -- store [case ...] [etcd binary]`: our etcd API beside a real etcd, on the same
 * machine and disk. `--help` says what the cases are.
 *
 * Each server is alone on core 0 where taskset is there, the generator on core 1. Runs alternate
 * between the two; CPU is the server's own in the measured time, RSS its at the end of it.
 */
import { availableParallelism } from "node:os";
import { findEtcd } from "../../src/commit/etcd/testing/servers.ts";
import { flagsOf } from "./flags.ts";
import { cases } from "./store/cases.ts";
import { pinned } from "./store/servers.ts";

const usage = `npm run bench -- store [case ...] [etcd binary] [--runs N] [--seconds N] [--loads s,m,l,xl]

The etcd API of "pilothouse store" beside a real etcd, durable writes in both. All cases take about
ten minutes; name those you want:

${Object.entries(cases)
  .map(([name, { about }]) => `  ${name.padEnd(8)}${about}`)
  .join("\n")}

  --runs N         runs of each figure, the median is shown (5)
  --seconds N      length of one run (1)
  --loads LIST     what "perf" checks, of s, m, l, xl (l)

Each server is warmed up by the first load of a case, 10 s long, before any of its runs.

etcd is 3.6 or later, from the argument, PILOTHOUSE_ETCD or the PATH; without one ours is measured
alone. etcdctl is PILOTHOUSE_ETCDCTL or on the PATH. NODE_ARGS goes to our server's Node: try
NODE_ARGS="--cpu-prof --cpu-prof-dir=/tmp/profile" with one case to see where its time goes.

"x etcd" is our rate over etcd's, "p99 / etcd" our 99th percentile over etcd's: below 1 is better.
"(generator)" warns that the load generator used up its own core, so the server could do more.
`;

const flags = flagsOf(usage, { runs: "5", seconds: "1", loads: "l" }, { words: true });

await main();

async function main(): Promise<void> {
  const named = flags.words.filter((one) => Object.hasOwn(cases, one));
  const [binary, ...unknown] = flags.words.filter((one) => !Object.hasOwn(cases, one));
  if (unknown.length > 0 || (binary !== undefined && !binary.includes("/"))) {
    flags.refuse(`"${unknown[0] ?? binary}" is no case; a binary is named by its path`);
  }
  const options = { runs: flags.number("runs"), seconds: flags.number("seconds") };
  const etcd = binary ?? findEtcd();
  if (etcd === undefined) process.stdout.write("no etcd found: ours is measured alone\n");
  const where = pinned ? "server on core 0, generator on core 1" : "not pinned";
  process.stdout.write(`${availableParallelism()} cores, ${where}, Node ${process.version}\n`);
  for (const [name, one] of Object.entries(cases)) {
    if (named.length > 0 && !named.includes(name)) continue;
    await one.run({ etcd, ...options, loads: flags.list("loads") });
  }
}
