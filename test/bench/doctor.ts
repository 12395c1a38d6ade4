/** `npm run bench -- doctor`: see `usage`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bound } from "../process/bound-child.ts";
import { doctor } from "../process/doctor-run.ts";
import { removeDirectory, root, startUp, temporaryDirectory } from "../process/harness.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds } from "./process-cost.ts";

const usage = `npm run bench -- doctor [flags]

A plane of ours with many hollow nodes. How long until the doctor's first verdict, of which one second is the time
between its two samples; and what "doctor --watch" costs the server, beside the same time without it.

  --nodes 5000     hollow nodes
  --watch 30       seconds between two looks, as by default
  --seconds 120    how long the server is watched, and left alone
  --runs 5         first verdicts; medians are printed
`;
const flags = flagsOf(usage, { nodes: "5000", watch: "30", seconds: "120", runs: "5" });
const directory = temporaryDirectory("bench-doctor");
const data = ["--data-dir", directory, "--port", "0", "--nodes", `${flags.number("nodes")}`];
const plane = await startUp(data);
// Leases of all nodes, and what the start left to do.
await sleep(30_000);

const verdicts: number[] = [];
for (let run = 0; run < flags.number("runs"); run++) {
  const startMs = performance.now();
  await doctor(plane.kubeconfig);
  verdicts.push((performance.now() - startMs) / 1000);
}
const alone = await serverSeconds();
const args = ["doctor", "--watch", `${flags.number("watch")}`, "--kubeconfig", plane.kubeconfig];
const watching = bound(
  spawn(process.execPath, [join(root, "bin", "pilothouse.mjs"), ...args], { stdio: "ignore" }),
);
const watched = await serverSeconds();
watching.kill();
await once(watching, "exit");
await plane.stop();
removeDirectory(directory);
const percent = ((watched - alone) / flags.number("seconds")) * 100;
console.log(
  JSON.stringify({
    firstVerdictSeconds: round(verdicts.toSorted((a, b) => a - b)[verdicts.length >> 1] ?? 0),
    serverAloneSeconds: round(alone),
    serverWatchedSeconds: round(watched),
    percentOfOneProcessor: round(percent),
  }),
);

/** Processor seconds of the server in the time that was asked for. */
async function serverSeconds(): Promise<number> {
  const before = cpuSeconds(plane.pid);
  await sleep(flags.number("seconds") * 1000);
  return cpuSeconds(plane.pid) - before;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
