/** The command `npm run takeover`: see `usage`. */
import { flagsOf } from "../bench/flags.ts";
import { findPeer, noPeer } from "./peers.ts";
import { faultsOf, tableHead, tableRow } from "./takeover-report.ts";
import { runTakeovers } from "./takeover-run.ts";

const usage = `npm run takeover -- [flags]

  --each 50            Deployments, StatefulSets, DaemonSets, Jobs and CronJobs: so many of each
  --nodes 7            hollow nodes
  --still-seconds 60   how long nothing may be written after all have settled
  --settle-seconds 300 how long all may take to settle
  --help               this

Our controllers, then a stock kube-controller-manager, then ours again run the workloads of one plane. Each time half
of the Deployments, StatefulSets and DaemonSets are given another image just before the change, so rollouts are under
way. Prints a table. Ends with 1 when a pod was lost or restarted that no rollout replaces, a revision was made that
nobody needed, or an object was written while all stood still. The program is found as PILOTHOUSE_KUBE_CONTROLLER_MANAGER,
in the folder PILOTHOUSE_STOCK, or on the PATH.
`;

const flags = flagsOf(usage, {
  each: "50",
  nodes: "7",
  "still-seconds": "60",
  "settle-seconds": "300",
});
const program = findPeer("kube-controller-manager");
if (program === undefined) {
  process.stderr.write(`${noPeer("kube-controller-manager")}\n`);
  process.exit(2);
}
const takeovers = await runTakeovers({
  program,
  each: flags.number("each"),
  nodes: flags.number("nodes"),
  stillMs: flags.number("still-seconds") * 1000,
  settleMsMax: flags.number("settle-seconds") * 1000,
  note: (text) => void process.stderr.write(`${text}\n`),
});
process.stdout.write(`${[tableHead, ...takeovers.map(tableRow)].join("\n")}\n`);
const faults = takeovers.flatMap(faultsOf);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);
