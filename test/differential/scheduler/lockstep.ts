/**
 * One pod at a time through a stock kube-scheduler; our core then counts the pod on the node that was chosen. Ours
 * says beforehand which nodes are feasible and which of them are best: the stock one's node must be among these, since
 * both choose among equals at random.
 */
import { spawn } from "node:child_process";
import { openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Namespace, Node, Pod, Service } from "#api/gen/types.ts";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { createInformerSet, type InformerSet } from "#client/informer-set.ts";
import { startPlane } from "#cmd/plane/plane.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { supervised } from "#cmd/shared/supervise.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "#scheduler/cache.ts";
import { defaultPlugins } from "#scheduler/default-plugins.ts";
import { Devices } from "#scheduler/devices/devices.ts";
import { fitErrorText } from "#scheduler/fit-error.ts";
import { Nominations } from "#scheduler/nominations.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import { Volumes } from "#scheduler/volumes.ts";
import { bound } from "../../process/bound-child.ts";
import { type PodClass, podClasses, podOf } from "./cases.ts";
import { makeObjectsOf, makeWorld, podsRef, type World } from "./world.ts";

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });

interface LockstepOptions {
  /** A stock kube-scheduler. */
  readonly program: string;
  /** The caller's to remove. */
  readonly directory: string;
  readonly nodes: number;
  readonly pods: number;
  readonly seed: number;
  readonly note: (text: string) => void;
}

export interface ClassResult {
  pods: number;
  placed: number;
  /** Together, so that 1 a pod would prove nothing. */
  best: number;
  feasible: number;
  readonly differences: string[];
}

export type LockstepResult = ReadonlyMap<PodClass, ClassResult>;

export async function runLockstep(options: LockstepOptions): Promise<LockstepResult> {
  const clock = new NodeClock();
  const host = supervised({
    clock,
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  });
  const { directory } = options;
  const pki = ensurePki(join(directory, "pki"), { ...host, extraHosts: [], serviceAddress });
  const listener = { host: "127.0.0.1", port: 0 };
  const plane = await startPlane(host, { pki, ...listener, nodes: 0, loops: "none" });
  const ending = new AbortController();
  const informers = createInformerSet({ ...host, client: plane.client });
  const running = informers.run(ending.signal);
  const world = await makeWorld(plane.client, options.nodes);
  const ours = await createOurs(plane.client, informers);
  const stock = startStock(options, plane.url, pki);
  try {
    return await step(plane.client, ours, world, options);
  } finally {
    stock.kill("SIGKILL");
    ending.abort();
    await running;
    await plane.stop();
  }
}

interface Ours {
  readonly cache: Cache;
  readonly decider: ScheduleAlgorithm;
  /** Resolves with the pod as soon as it has a node, or a verdict that it has none. */
  settled(name: string): Promise<Pod>;
  /** Resolves when the objects are known here. */
  knows(podClass: PodClass, at: number): Promise<void>;
}

async function createOurs(client: Client, informers: InformerSet): Promise<Ours> {
  const clock = new NodeClock();
  const pods = informers.informer<Pod>(core("pods"));
  const nodes = informers.informer<Node>(core("nodes"));
  const spaces = informers.informer<Namespace>(core("namespaces"));
  const services = informers.informer<Service>(core("services"));
  const volumes = new Volumes({ client, clock, informers, pods });
  const devices = new Devices({ client, clock, informers, random: new NodeRandom() });
  const namespaces = (space: string) => spaces.get("", space)?.metadata?.labels;
  const cache = new Cache({ namespaces });
  volumes.subscribe(() => {});
  devices.subscribe(
    () => {},
    () => cache.classesChanged(),
  );
  nodes.addHandler({
    add: (node) => void cache.setNode(node),
    update: (_old, node) => void cache.setNode(node),
  });
  const waiting = new Map<string, (pod: Pod) => void>();
  const seen = (pod: Pod): void => {
    const nodeName = pod.spec?.nodeName ?? "";
    if (nodeName !== "") cache.confirm(podInfo(pod), nodeName);
    if (nodeName !== "" || verdictOn(pod) !== undefined)
      waiting.get(pod.metadata?.name ?? "")?.(pod);
  };
  pods.addHandler({
    add: seen,
    update: (_old, pod) => seen(pod),
    delete: ({ metadata }) => cache.removePod(metadata?.uid ?? ""),
  });
  await Promise.all([pods, nodes, spaces, services].map(({ synced }) => synced));
  await Promise.all([...volumes.synced, ...devices.synced]);
  const decider = new ScheduleAlgorithm({
    cache,
    random: new FakeRandom(1),
    namespaces,
    volumes,
    devices,
    nominations: new Nominations(),
    plugins: defaultPlugins,
    services: (space) => services.list(space),
  });
  return {
    cache,
    decider,
    settled: (name) =>
      new Promise((resolve) => {
        waiting.set(name, (pod) => {
          waiting.delete(name);
          resolve(pod);
        });
      }),
    knows: async (podClass, at) => {
      const isKnown = (): boolean =>
        (podClass !== "volumes" || volumes.claim("default", `v${at}`) !== undefined) &&
        (podClass !== "devices" || devices.claim("default", `d${at}`) !== undefined);
      while (!isKnown()) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** That the stock scheduler has not heard of a claim yet is none: it tries again when it has. */
function verdictOn({ status }: Pod): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status !== "False") return undefined;
  return condition.message?.includes("not found") === true ? undefined : condition.message;
}

async function step(
  client: Client,
  ours: Ours,
  world: World,
  { pods, seed, note }: LockstepOptions,
): Promise<LockstepResult> {
  const random = new FakeRandom(seed);
  const results = new Map<PodClass, ClassResult>(
    podClasses.map((one) => [
      one,
      { pods: 0, placed: 0, best: 0, feasible: 0, differences: [] as string[] },
    ]),
  );
  for (let at = 0; at < pods; at++) {
    const podClass = podClasses[at % podClasses.length] ?? "plain";
    const result = results.get(podClass);
    if (result === undefined) continue;
    const pod = world.owned(podClass, podOf(podClass, at, random));
    await makeObjectsOf(client, podClass, at, random);
    await ours.knows(podClass, at);
    const settled = ours.settled(`p${at}`);
    const created = await client.create<Pod>(podsRef, "default", pod);
    const expected = judge(ours, created);
    const found = await settled;
    result.pods++;
    result.best += expected.best.length;
    result.feasible += expected.feasible;
    const nodeName = found.spec?.nodeName ?? "";
    if (nodeName !== "") result.placed++;
    const difference = differenceOf(expected, nodeName, verdictOn(found) ?? "");
    if (difference !== undefined) {
      result.differences.push(`p${at}: ${difference}`);
      note(`${podClass}: p${at}: ${difference}`);
    }
    // It would be tried again, and change what the next pods find.
    if (nodeName === "")
      await client.delete(podsRef, "default", `p${at}`, { gracePeriodSeconds: 0 });
    if (at % 500 === 499) note(`${at + 1} pods`);
  }
  return results;
}

interface Expected {
  readonly best: readonly string[];
  readonly feasible: number;
  readonly scoreOf: (nodeName: string) => string;
  readonly refusal: string;
}

function judge({ cache, decider }: Ours, pod: Pod): Expected {
  const info = podInfo(pod);
  const { feasible, parts } = decider.examine(info);
  const total = (slot: number): number =>
    [...parts.values()].reduce((sum, scores) => sum + (scores[slot] ?? 0), 0);
  const most = Math.max(...feasible.map(total));
  const best = feasible.filter((slot) => total(slot) === most);
  const decision = decider.decide(info);
  return {
    best: best.map((slot) => cache.nodes.name(slot)),
    feasible: feasible.length,
    refusal: decision.kind === "none" ? fitErrorText(decision.error) : "",
    scoreOf(nodeName) {
      const slot = cache.nodes.slotOf(nodeName) ?? -1;
      if (!feasible.includes(slot)) return "refused";
      const each = [...parts].map(([name, scores]) => `${name} ${scores[slot] ?? 0}`);
      return `${total(slot)} of ${most} (${each.join(", ")})`;
    },
  };
}

function differenceOf(expected: Expected, nodeName: string, verdict: string): string | undefined {
  if (nodeName !== "") {
    if (expected.best.includes(nodeName)) return undefined;
    const [first = ""] = expected.best;
    const best = first === "" ? "none" : `${first}, ${expected.scoreOf(first)}`;
    return `stock chose ${nodeName}, here ${expected.scoreOf(nodeName)}; best here: ${best}`;
  }
  if (expected.best.length > 0) return `stock found no node: ${verdict}; here ${expected.best[0]}`;
  return verdict.startsWith(expected.refusal) ? undefined : `${verdict} / ${expected.refusal}`;
}

function startStock({ program, directory }: LockstepOptions, server: string, pki: Pki) {
  const kubeconfig = join(directory, "kubeconfig");
  const text = kubeconfigYaml({
    server,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
    user: "kubernetes-admin",
    cluster: "lockstep",
  });
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const config = join(directory, "scheduler.yaml");
  writeFileSync(
    config,
    `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: { leaderElect: false }
percentageOfNodesToScore: 100
clientConnection: { kubeconfig: "${kubeconfig}", qps: 5000, burst: 5000 }
`,
  );
  const out = openSync(join(directory, "stock.log"), "a");
  const args = [`--config=${config}`, "--secure-port=0", "--bind-address=127.0.0.1"];
  return bound(spawn(program, args, { cwd: directory, stdio: ["ignore", out, out] }));
}
