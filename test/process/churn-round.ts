/**
 * One round of churn: a namespace is made, gets an object of every kind, pods that run, events, watches,
 * lists and documents, and goes again with all that is in it. What the server refuses is counted by kind.
 */
import type { KindSample } from "./churn-kinds.ts";
import type { Json, KubeHttp } from "./kube-http.ts";

export interface ChurnCounts {
  rounds: number;
  writes: number;
  events: number;
  watchesCut: number;
  listsUnfinished: number;
  documents: number;
  tokens: number;
  /** Rounds whose namespace was still there at the end of the wait. */
  late: number;
  readonly refused: Map<string, number>;
}

export interface RoundDeps {
  readonly http: KubeHttp;
  /** A connection of its own for watches that are cut with it. */
  readonly connect: () => KubeHttp;
  readonly samples: readonly KindSample[];
  readonly counts: ChurnCounts;
}

const podsPerRound = 4;
const eventsPerRound = 120;
const leaseRenewals = 10;
const waitMs = 20_000;
const documents = [
  "/api",
  "/apis",
  "/api/v1",
  "/apis/apps/v1",
  "/version",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/api/v1",
  "/openapi/v3/apis/apps/v1",
];
const merge = "application/merge-patch+json";

export function newCounts(): ChurnCounts {
  const zero = { rounds: 0, writes: 0, events: 0, watchesCut: 0, listsUnfinished: 0 };
  return { ...zero, documents: 0, tokens: 0, late: 0, refused: new Map() };
}

export async function churnRound(deps: RoundDeps, round: string): Promise<void> {
  const namespace = `churn-${round}`;
  const watching = deps.connect();
  const write = writer(deps);
  await write("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const cut = openWatches(watching, namespace, deps.samples);
  await makePods(write, namespace);
  await changeEveryKind(deps, write, { namespace, round });
  await recordEvents(deps, write, namespace);
  await readAsKubectl(deps, namespace);
  await holdLease(write, namespace);
  await issueTokens(deps, write, namespace);
  deps.counts.watchesCut += cut.count;
  watching.close();
  await removeAll(deps, write, { namespace, round });
  deps.counts.rounds++;
}

type Write = (method: string, path: string, body?: unknown, type?: string) => Promise<Json>;

function writer({ http, counts }: RoundDeps): Write {
  return async (method, path, body, type) => {
    const answer = await http.request(method, path, body, type);
    counts.writes++;
    if (answer.status >= 400 && answer.status !== 404 && answer.status !== 409) {
      const what = `${method} ${path.split("/").at(method === "POST" ? -1 : -2)} ${answer.status}`;
      counts.refused.set(what, (counts.refused.get(what) ?? 0) + 1);
    }
    return answer.body;
  };
}

/** Each is cut with its connection, in the middle of its stream. */
function openWatches(
  http: KubeHttp,
  namespace: string,
  samples: readonly KindSample[],
): { readonly count: number } {
  const paths = samples.map((sample) => `${sample.path(namespace)}?watch=1`);
  paths.push("/api/v1/events?watch=1", "/api/v1/pods?watch=1", "/api/v1/namespaces?watch=1");
  for (const path of paths) void http.watch(path, () => {});
  return { count: paths.length };
}

async function makePods(write: Write, namespace: string): Promise<void> {
  const labels = { app: "churn" };
  const containers = [{ name: "c", image: "busybox" }];
  const template = { metadata: { labels }, spec: { containers } };
  await write("POST", `/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: "web" },
    spec: { replicas: podsPerRound, selector: { matchLabels: labels }, template },
  });
  await write("POST", `/apis/batch/v1/namespaces/${namespace}/jobs`, {
    metadata: { name: "work" },
    spec: {
      completions: 2,
      parallelism: 2,
      template: { spec: { containers, restartPolicy: "Never" } },
    },
  });
}

async function changeEveryKind(
  { http, samples }: RoundDeps,
  write: Write,
  { namespace, round }: { readonly namespace: string; readonly round: string },
): Promise<void> {
  for (const { body, namespaced, path, name } of samples) {
    const at = path(namespace);
    const own = name(round);
    const placed = inNamespace(body, namespace);
    const metadata = { ...placed["metadata"], name: own, ...(namespaced ? { namespace } : {}) };
    await write("POST", at, { ...placed, metadata });
    await write("PATCH", `${at}/${own}`, { metadata: { labels: { round } } }, merge);
    await http.request("GET", `${at}/${own}`);
  }
}

/** What an object says of its namespace elsewhere must be true, too: events name their object's. */
function inNamespace(body: Json, namespace: string): Json & { readonly metadata: object } {
  const text = JSON.stringify(body).replaceAll('"namespace":"every"', `"namespace":"${namespace}"`);
  return JSON.parse(text);
}

/** As controllers that are not ours record them: made once, then counted up. */
async function recordEvents({ counts }: RoundDeps, write: Write, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/events`;
  for (let at = 0; at < eventsPerRound; at++) {
    const time = new Date().toISOString().replace(/\.\d+/, "");
    await write("POST", path, {
      metadata: { name: `custom-${at}`, namespace },
      involvedObject: { kind: "Pod", name: `web-${at}`, namespace },
      reason: "Reconciled",
      message: `a custom controller looked at object ${at} and found it changed since`.repeat(4),
      type: "Normal",
      source: { component: "custom-controller" },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    });
    if (at % 4 === 0) await write("PATCH", `${path}/custom-${at}`, { count: 2 }, merge);
    counts.events++;
  }
}

/** Discovery and schemas, and lists whose later pages nobody asks for. */
async function readAsKubectl(
  { http, samples, counts }: RoundDeps,
  namespace: string,
): Promise<void> {
  for (const path of documents) {
    await http.request("GET", path);
    counts.documents++;
  }
  const lists = [
    `/api/v1/namespaces/${namespace}/events?limit=7`,
    "/api/v1/pods?limit=3",
    "/api/v1/configmaps?limit=50",
    ...samples.map((sample) => `${sample.path(namespace)}?limit=1`),
  ];
  for (const path of lists) await http.request("GET", path);
  counts.listsUnfinished += lists.length;
  await http.request("GET", "/api/v1/configmaps");
}

async function holdLease(write: Write, namespace: string): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const spec = { holderIdentity: "custom-controller", leaseDurationSeconds: 15 };
  await write("POST", path, { metadata: { name: "custom-controller" }, spec });
  for (let at = 0; at < leaseRenewals; at++) {
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    await write("PATCH", `${path}/custom-controller`, { spec: { renewTime } }, merge);
  }
}

async function issueTokens({ counts }: RoundDeps, write: Write, namespace: string): Promise<void> {
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/x`;
  for (let at = 0; at < 3; at++) {
    await write("POST", `${account}/token`, { spec: { expirationSeconds: 600 } });
    counts.tokens++;
  }
}

async function removeAll(
  { http, samples, counts }: RoundDeps,
  write: Write,
  { namespace, round }: { readonly namespace: string; readonly round: string },
): Promise<void> {
  const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/web`;
  await write("PATCH", deployment, { spec: { replicas: 1 } }, merge);
  for (const { namespaced, path, name } of samples) {
    if (!namespaced) await write("DELETE", `${path(namespace)}/${name(round)}`);
  }
  await write("DELETE", `/api/v1/namespaces/${namespace}`);
  const endMs = performance.now() + waitMs;
  while ((await http.request("GET", `/api/v1/namespaces/${namespace}`)).status !== 404) {
    if (performance.now() > endMs) return void counts.late++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
