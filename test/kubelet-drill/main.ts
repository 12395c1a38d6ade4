/**
 * The drill with real kubelets: joins two nodes to a plane, runs workloads on them, loses one, and prints a
 * table. Everything it starts ends with it. See `usage`.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { flagsOf } from "../bench/flags.ts";
import { watchEnd } from "../process/bound-child.ts";
import { root } from "../process/harness.ts";
import { closeCgroup } from "./cgroups.ts";
import { Cluster } from "./cluster.ts";
import { makeImages } from "./images.ts";
import { joinSteps, type Signer } from "./join.ts";
import { lossSteps } from "./loss-steps.ts";
import { lookForNeeds } from "./needs.ts";
import { closeNetwork, networkLeft, openNetwork, places } from "./network.ts";
import { buildPrograms, isBuilt } from "./programs.ts";
import { reachSteps } from "./reach-steps.ts";
import { expect, must, until } from "./shell.ts";
import { type Row, runSteps, type Step, tableOf } from "./table.ts";
import { workloadSteps } from "./workload-steps.ts";

const usage = `npm run kubelet-drill -- [flags]

  --signer auto   who signs the nodes' certificates: plane, stock (a stock kube-controller-manager), or
                  auto: stock when the plane did not within 15 s
  --keep ""       a folder to copy the logs of plane and nodes to
  --help          this

Needs root, kubectl, curl, runc, iptables, conntrack, busybox-static and containernetworking-plugins; and Go,
which builds kubelet, kube-proxy, containerd and CoreDNS from the Go module proxy (the first time: 20 minutes).
PILOTHOUSE_RIG names the folder of what was built (its bin/ may be filled already); .cache/kubelet-drill
without it. Ends with 1 when a step failed, with 0 and the reason when it cannot be run here.
`;

const closeMsMax = 30_000;
const flags = flagsOf(usage, { signer: "auto", keep: "" });
const signer = signerOf(flags.text("signer"));
const rig = process.env["PILOTHOUSE_RIG"] || join(root, ".cache", "kubelet-drill");
const bin = join(rig, "bin");
const needs = lookForNeeds(isBuilt(bin));
if (needs.missing.length > 0) {
  process.stdout.write(`kubelet-drill: skipped: ${needs.missing.join("; ")}\n`);
  process.exit(0);
}

mkdirSync(rig, { recursive: true });
const folder = mkdtempSync(join(rig, "run-"));
const images = join(folder, "images");
const cluster = new Cluster(folder, bin);
const rows: Row[] = [];
// A signal ends the program at once, also while it builds: what is no process is then removed on the way out.
process.once("exit", removeRest);
watchEnd();
// A Go that is killed leaves its scratch folder behind.
process.env["GOTMPDIR"] = folder;
try {
  await runSteps(steps(), rows);
  keepLogs();
} finally {
  await runSteps([{ name: "nothing is left behind", run: close }], rows);
}
process.stdout.write(`\n${tableOf(rows)}\n`);
process.exit(rows.some((row) => row.outcome === "FAILED") ? 1 : 0);

function signerOf(text: string): Signer {
  if (text === "auto" || text === "plane" || text === "stock") return text;
  return flags.refuse(`--signer is auto, plane or stock, not "${text}"`);
}

function steps(): readonly Step[] {
  return [
    { name: "programs, images, network", isNeeded: true, run: prepare },
    ...joinSteps(cluster, { signer, rig, images, needs }),
    ...workloadSteps(cluster),
    ...reachSteps(cluster),
    ...lossSteps(cluster),
  ];
}

async function prepare(): Promise<string> {
  const built = await buildPrograms(rig);
  await makeImages(folder, bin, needs.busybox);
  await openNetwork();
  return built.length === 0 ? "programs were there" : `built ${built.join(", ")}`;
}

function keepLogs(): void {
  const target = flags.text("keep");
  if (target === "") return;
  mkdirSync(target, { recursive: true });
  for (const { name } of places) {
    for (const log of ["node", "containerd", "kubelet", "kube-proxy"]) {
      const path = join(folder, name, `${log}.log`);
      if (existsSync(path)) copyFileSync(path, join(target, `${name}-${log}.log`));
    }
  }
}

async function close(): Promise<string> {
  for (const node of cluster.nodes) await node.stop();
  await cluster.stopAll();
  await until("the nodes' cgroups empty", closeMsMax, async () =>
    places.flatMap(({ name }) => closeCgroup(name)).length === 0 ? true : undefined,
  );
  removeRest();
  const left = [...(await networkLeft()), ...(await processesLeft()), ...mountsLeft()];
  expect(left.length === 0, `left: ${left.join(", ")}`);
  return "no process, link, namespace, mount, cgroup or file of the run";
}

/** Also on the way out after a signal, so it does not wait for events. */
function removeRest(): void {
  for (const node of cluster.nodes) node.kill();
  closeNetwork();
  const endMs = performance.now() + closeMsMax;
  while (places.flatMap(({ name }) => closeCgroup(name)).length > 0) {
    if (performance.now() > endMs) break;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function processesLeft(): Promise<readonly string[]> {
  const all = (await must("ps", ["-eo", "pid,args"])).split("\n");
  return all.filter((line) => line.includes(folder)).map((line) => line.trim().slice(0, 80));
}

function mountsLeft(): readonly string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return mounts.filter((line) => line.includes(folder));
}
