/** `npm run bench -- zone-loss`: see `usage`. */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { printTable, progress, progressDone } from "./store/table.ts";
import { until } from "./until.ts";
import { Bystander, quantile } from "./zone-loss/bystander.ts";
import { Fleet } from "./zone-loss/fleet.ts";
import { type Plane, startOneProcess, startPlane } from "./zone-loss/plane.ts";
import { type Panel, svgOf } from "./zone-loss/plot.ts";

const usage = `npm run bench -- zone-loss [--nodes N] [--pods N] [--budgets LIST] [--cut-seconds N] [--svg FILE] [--burst]

API server, scheduler, controller manager and hollow nodes in three zones, each a process; Deployments fill the nodes. First all nodes
are cut off at once, which must evict nothing; then one zone is. Nodes are given up at once (--node-eviction-rate 10000), so
the recovery budget alone slows the herd. Meanwhile a quiet tenant patches a ConfigMap of its own, and a reader asks
for a pod, each 20 times a second.

  --nodes N         (1000)
  --pods N          of all nodes together (5000)
  --budgets LIST    values of --recovery-budget, one run each (off,auto)
  --cut-seconds N   for which all nodes are cut off in the first run; 0: not at all (120)
  --svg FILE        also draws the runs
  --burst true      instead: "pilothouse up", all in one process, to which the Deployments are given at once
`;
const flags = flagsOf(usage, {
  nodes: "1000",
  pods: "5000",
  budgets: "off,auto",
  "cut-seconds": "120",
  svg: "",
  burst: "false",
});
const nodes = flags.number("nodes", 3);
const pods = flags.number("pods", 1);
const cutSeconds = flags.number("cut-seconds", 0);
const isBurst = flags.text("burst") === "true";
const deployments = 10;
const lostZone = "zone-1";
const recoveryMsMax = 600_000;
/** Longer than the silence of the last node is noticed after that of the first: leases are renewed within 10 s. */
const tolerationSeconds = 30;
const everyMs = 50;
/** After the last pod is back: the herd's last writes. */
const quietSeconds = 5;

interface Run extends Seen {
  readonly budget: string;
  readonly cutEvicted: number | undefined;
  readonly evicted: number;
  readonly seconds: number;
  readonly perSecond: number;
}

interface Seen {
  readonly readerMs: number;
  readonly tenantMs: number;
  readonly tenantWorstMs: number;
  readonly refused: number;
  readonly curves: {
    readonly ready: number[];
    readonly evicted: number[];
    readonly tenant: number[];
  };
}

const runs: Run[] = [];
for (const budget of flags.list("budgets")) {
  const plane = await (isBurst ? startOneProcess : startPlane)(nodes, budget);
  try {
    runs.push(await (isBurst ? burst : run)(plane, budget));
  } finally {
    await plane.stop();
  }
}
print(runs);
if (flags.text("svg") !== "") writeFileSync(flags.text("svg"), svgOf(panels(runs)));

async function run(plane: Plane, budget: string): Promise<Run> {
  const fleet = new Fleet(plane.admin);
  await until("nodes", async () => (await fleet.readZones()) >= nodes);
  await fill(plane.admin);
  await until("pods", () => {
    progress(`${fleet.ready()} pods are ready`);
    return fleet.ready() >= pods;
  });
  const cutEvicted = cutSeconds === 0 || runs.length > 0 ? undefined : await cutAll(fleet);
  const lost = [...fleet.zones].filter(([, zone]) => zone === lostZone).map(([name]) => name);
  const before = fleet.evicted;
  const seen = await beside(plane, fleet, () => {
    progress(`${budget}: a zone of ${lost.length} nodes is lost`);
    return fleet.fail(lost, "partition");
  });
  const evicted = fleet.evicted - before;
  const seconds = secondsOf(seen.curves.evicted, seen.curves.ready);
  return { ...seen, budget, cutEvicted, evicted, seconds, perSecond: evicted / seconds };
}

/** From the first pod that moves until all are ready. */
function secondsOf(moves: readonly number[], ready: readonly number[]): number {
  const from = moves.findIndex((count) => count > 0);
  return Math.max(1, ready.findLastIndex((count) => count < pods) + 1 - Math.max(0, from));
}

async function burst(plane: Plane, budget: string): Promise<Run> {
  const fleet = new Fleet(plane.admin);
  await until("nodes", async () => (await fleet.readZones()) >= nodes);
  const seen = await beside(plane, fleet, () => fill(plane.admin));
  const seconds = secondsOf([1], seen.curves.ready);
  return { ...seen, budget, cutEvicted: undefined, evicted: 0, seconds, perSecond: pods / seconds };
}

/** What the bystanders see while the herd runs. */
async function beside(plane: Plane, fleet: Fleet, begin: () => Promise<void>): Promise<Seen> {
  const others = await bystanders(plane);
  const { tenant, reader } = others;
  await sleep(5_000);
  tenant.start();
  reader.start();
  await begin();
  const curves = await watchRecovery(fleet, tenant);
  tenant.stop();
  reader.stop();
  others.close();
  return {
    readerMs: quantile(reader.all, 0.99),
    tenantMs: quantile(tenant.all, 0.99),
    tenantWorstMs: Math.max(...tenant.all),
    refused: tenant.failures + reader.failures,
    curves,
  };
}

async function cutAll(fleet: Fleet): Promise<number> {
  const all = [...fleet.zones.keys()];
  progress("all nodes are cut off");
  await fleet.fail(all, "partition");
  await sleep(cutSeconds * 1_000);
  const { evicted } = fleet;
  await fleet.fail(all, null);
  await until("ready pods after the cut", () => fleet.ready() >= pods);
  return evicted;
}

/** A second each: ready pods outside of the lost zone, pods evicted, the tenant's slowest answer. */
async function watchRecovery(fleet: Fleet, tenant: Bystander): Promise<Run["curves"]> {
  const curves = { ready: [] as number[], evicted: [] as number[], tenant: [] as number[] };
  const endMs = performance.now() + recoveryMsMax;
  let evicted = fleet.evicted;
  for (let calm = 0; calm < quietSeconds && performance.now() < endMs;) {
    await sleep(1_000);
    const ready = fleet.ready(new Set([lostZone]));
    curves.ready.push(ready);
    curves.evicted.push(fleet.evicted - evicted);
    curves.tenant.push(tenant.worstMs());
    ({ evicted } = fleet);
    calm = ready >= pods ? calm + 1 : 0;
  }
  return curves;
}

/** A tenant with a token of its own, and an administrator who reads. */
async function bystanders({ admin, kubeconfig }: Plane) {
  const space = "/api/v1/namespaces/quiet";
  await admin.request("POST", "/api/v1/namespaces", { metadata: { name: "quiet" } });
  await admin.request("POST", `${space}/configmaps`, { metadata: { name: "own" }, data: {} });
  await admin.request("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/quiet/rolebindings", {
    metadata: { name: "edit" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "quiet" }],
  });
  const token = await until("a token", async () => {
    const path = `${space}/serviceaccounts/default/token`;
    const { body } = await admin.request("POST", path, { spec: {} });
    const text = body["status"]?.["token"];
    return text === undefined ? false : String(text);
  });
  const { server, ca } = credentialsOf(kubeconfig);
  const own = new KubeHttp({ server, ca, headers: { authorization: `Bearer ${token}` } });
  const reading = new KubeHttp(credentialsOf(kubeconfig));
  let patches = 0;
  const tenant = new Bystander(everyMs, async () => {
    const body = { data: { n: String(patches++) } };
    const merge = "application/merge-patch+json";
    const { status } = await own.request("PATCH", `${space}/configmaps/own`, body, merge);
    if (status !== 200) throw new Error(`answered ${status}`);
  });
  const reader = new Bystander(everyMs, () => reading.request("GET", "/api/v1/pods?limit=1"));
  return {
    tenant,
    reader,
    close() {
      own.close();
      reading.close();
    },
  };
}

async function fill(admin: KubeHttp): Promise<void> {
  const toleration = (name: string) => ({
    key: `node.kubernetes.io/${name}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  for (let at = 0; at < deployments; at++) {
    const namespace = `t${at}`;
    await admin.request("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const labels = { app: "web" };
    const replicas = Math.floor(pods / deployments) + (at < pods % deployments ? 1 : 0);
    const spec = {
      terminationGracePeriodSeconds: 1,
      tolerations: [toleration("unreachable"), toleration("not-ready")],
      containers: [{ name: "c", image: "nginx" }],
    };
    const template = { metadata: { labels }, spec };
    await admin.request("POST", `/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: { name: "web" },
      spec: { replicas, selector: { matchLabels: labels }, template },
    });
  }
}

function panels(all: readonly Run[]): readonly Panel[] {
  const panel = (title: string, of: (run: Run) => readonly number[]): Panel => ({
    title,
    lines: all.map((one) => ({ name: `budget ${one.budget}`, values: of(one) })),
  });
  return [
    panel("ready pods outside of the lost zone", ({ curves }) => curves.ready),
    panel("pods evicted, a second", ({ curves }) => curves.evicted),
    panel("quiet tenant's slowest answer, ms", ({ curves }) => curves.tenant),
  ];
}

function print(all: readonly Run[]): void {
  progressDone();
  const head = "budget,evicted on a full cut,evicted,s until all are back,pods/s,reader p99 ms";
  const more = "tenant p99 ms,tenant worst ms,refused or failed";
  const rows = all.map((one) => [
    one.budget,
    one.cutEvicted ?? "-",
    one.evicted,
    one.seconds,
    Math.round(one.perSecond),
    ...[one.readerMs, one.tenantMs, one.tenantWorstMs].map(Math.round),
    one.refused,
  ]);
  const title = `${nodes} nodes in 3 zones, ${pods} pods`;
  printTable(title, [...head.split(","), ...more.split(",")], rows);
}
