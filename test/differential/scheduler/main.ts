/** The command `npm run lockstep`: see `usage`. */
import { flagsOf } from "../../bench/flags.ts";
import { removeDirectory, temporaryDirectory } from "../../process/harness.ts";
import { findPeer, noPeer } from "../../process/peers.ts";
import { runLockstep } from "./lockstep.ts";

const usage = `npm run lockstep -- [flags]

  --nodes 500
  --pods 3000   in turns of 14 classes
  --seed 1
  --help        this

Puts pods, one at a time, through a stock kube-scheduler on a plane of ours, and compares its choice with the nodes
that our scheduler holds for the best, and its refusals with ours, text by text. Prints a table and each difference;
ends with 1 when there is one. The program is found as PILOTHOUSE_KUBE_SCHEDULER, in the folder PILOTHOUSE_STOCK, or on
the PATH.
`;

const flags = flagsOf(usage, { nodes: "500", pods: "3000", seed: "1" });
const program = findPeer("kube-scheduler");
if (program === undefined) {
  process.stderr.write(`${noPeer("kube-scheduler")}\n`);
  process.exit(2);
}
const directory = temporaryDirectory("lockstep");
try {
  const results = await runLockstep({
    program,
    directory,
    nodes: flags.number("nodes"),
    pods: flags.number("pods"),
    seed: flags.number("seed"),
    note: (text) => void process.stderr.write(`${text}\n`),
  });
  let differences = 0;
  const lines = [
    "| pods | n | placed | feasible nodes | best nodes | differences |",
    "|---|---|---|---|---|---|",
  ];
  for (const [name, one] of results) {
    differences += one.differences.length;
    const mean = (sum: number): string => (one.pods === 0 ? "" : (sum / one.pods).toFixed(1));
    lines.push(
      `| ${name} | ${one.pods} | ${one.placed} | ${mean(one.feasible)} | ${mean(one.best)} | ${one.differences.length} |`,
    );
  }
  process.stdout.write(`${lines.join("\n")}\n`);
  process.exitCode = differences === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exitCode = 1;
} finally {
  removeDirectory(directory);
}
