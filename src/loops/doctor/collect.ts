/**
 * One look at a control plane: two samples of its metrics and a page of each kind that rules read.
 *
 * In     a client whose calls end by themselves: `cmd` gives each request a deadline.
 * Out    evidence that is whole but for its gaps; nothing that fails here throws.
 * Cost   seven requests, five of them at once, and two for each program and a Prometheus; no list is longer than a page, but for the leases of nodes.
 *        When nodes are silent, the metadata of all nodes, in pages; when callers of the audit log ask for much, the workloads
 *        of their namespaces, of eight at most.
 */
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { given } from "#base/given.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { parseHeldRequests } from "./dump.ts";
import type {
  Audit,
  Evidence,
  Gap,
  HeldRequest,
  Program,
  Samples,
  SeenCondition,
  SeenKind,
  SeenObject,
} from "./evidence.ts";
import { type Metrics, parseMetrics } from "./metrics-text.ts";
import { parseVector, pastOf, queryPath } from "./prometheus.ts";
import { namespacesOfCrowds } from "./rules/fan-out.ts";
import { silentNodesOf } from "./rules/silent-nodes.ts";
import { rules } from "./rules.ts";
import { readWorkloads } from "./workloads.ts";
import { readZones } from "./zones.ts";

interface LookDeps {
  readonly client: Client;
  readonly nowMs: () => number;
  /** Resolves when the second sample is due. */
  readonly pause: () => Promise<void>;
  readonly servingCertificateEndMs: () => Promise<number | undefined>;
  /** By program: reads its metrics. Absent: no flag gives their URL. */
  readonly programs: Readonly<Partial<Record<Program, () => Promise<unknown>>>>;
  /** Reads the audit log. Absent: no flag gives its file. */
  readonly audit?: () => Promise<Audit>;
  /** Access to a Prometheus. Absent: no flag gives its URL. */
  readonly past?: Past;
}

interface Past {
  readonly seconds: number;
  /** Sends a GET for a path of Prometheus; resolves to the parsed JSON. */
  readonly get: (path: string) => Promise<unknown>;
}

const programNames: readonly Program[] = ["scheduler", "controller-manager", "etcd", "relay"];
const namespacesMax = 8;
const dumpPath = "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1";

const pageMax = 500;
/**
 * Maximum number of node leases. One page would not suffice to see that every node is silent. A lease has about 400
 * bytes, so this is 4 MB.
 */
const nodesMax = 10_000;
const nothing: Metrics = { series: [], dropped: 0 };

interface Page {
  readonly kind: SeenKind;
  readonly ref: ResourceRef;
  readonly namespace?: string;
  readonly limit?: number;
}

const pages: readonly Page[] = [
  { kind: "namespaces", ref: { group: "", version: "v1", resource: "namespaces" } },
  {
    kind: "apiservices",
    ref: { group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" },
  },
  {
    kind: "leases",
    ref: { group: "coordination.k8s.io", version: "v1", resource: "leases" },
    namespace: "kube-system",
  },
  {
    kind: "nodeLeases",
    ref: { group: "coordination.k8s.io", version: "v1", resource: "leases" },
    namespace: "kube-node-lease",
    limit: nodesMax,
  },
];

export async function look(deps: LookDeps): Promise<Evidence> {
  const gaps: Gap[] = [];
  const firstMs = deps.nowMs();
  const firsts = Promise.all(programNames.map((name) => lookAtProgram(deps, name, gaps)));
  const [before, servingCertificateEndMs, ...lists] = await Promise.all([
    lookAtMetrics(deps.client, gaps),
    deps.servingCertificateEndMs(),
    ...pages.map((page) => lookAtPage(deps.client, page, gaps)),
  ]);
  const [namespaces = [], apiservices = [], leases = [], nodeLeases = []] = lists;
  const first = await firsts;
  const canSample = before !== nothing || first.some((metrics) => metrics !== nothing);
  if (canSample) await deps.pause();
  const [after, held, audit, past, ...second] = await Promise.all([
    before === nothing ? nothing : lookAtMetrics(deps.client, gaps),
    before === nothing ? [] : lookAtDump(deps.client, gaps),
    lookAtAudit(deps, gaps),
    lookAtPast(deps, gaps),
    ...programNames.map((name, at) =>
      first[at] === nothing ? nothing : lookAtProgram(deps, name, gaps),
    ),
  ]);
  const nowMs = deps.nowMs();
  const secondsBetween = (nowMs - firstMs) / 1_000;
  const zones = await lookAtZones(deps, nodeLeases, gaps);
  const workloads = await lookAtWorkloads(deps, audit, gaps);
  const programs: Partial<Record<Program, Samples>> = {};
  for (const [at, name] of programNames.entries()) {
    const samples = { before: first[at] ?? nothing, after: second[at] ?? nothing, secondsBetween };
    if (samples.after !== nothing) programs[name] = samples;
  }
  return {
    nowMs,
    before,
    after,
    secondsBetween,
    programs,
    held,
    ...given({ audit, past, zones, workloads }),
    objects: { namespaces, apiservices, leases, nodeLeases },
    servingCertificateEndMs,
    hasAnswer: before !== nothing || lists.some((page) => page !== undefined),
    gaps,
  };
}

function lookAtMetrics(client: Client, gaps: Gap[]): Promise<Metrics> {
  const what = "/metrics of the API server";
  const right = "get on the non-resource URL /metrics";
  return lookAtText(() => client.raw("/metrics"), { what, right }, gaps);
}

async function lookAtProgram({ programs }: LookDeps, name: Program, gaps: Gap[]): Promise<Metrics> {
  const read = programs[name];
  const what = `/metrics of ${name}`;
  if (read !== undefined) {
    return lookAtText(read, { what, right: `another --${name} URL` }, gaps);
  }
  // A relay is optional, so its absence is not a gap.
  if (name === "relay") return nothing;
  gaps.push({ what, why: "no flag says where they are", right: `--${name} URL` });
  return nothing;
}

async function lookAtText(
  read: () => Promise<unknown>,
  { what, right }: Omit<Gap, "why">,
  gaps: Gap[],
): Promise<Metrics> {
  const wanted = new Set(rules.flatMap(({ reads }) => reads));
  try {
    const body = await read();
    const metrics = parseMetrics(typeof body === "string" ? body : "", (name) => wanted.has(name));
    if (metrics.dropped > 0) {
      gaps.push({
        what,
        why: `${metrics.dropped} series were dropped: bad, or too many`,
        right: "-",
      });
    }
    return metrics;
  } catch (error) {
    gaps.push({ what, why: reasonOf(error), right });
    return nothing;
  }
}

async function lookAtAudit({ audit }: LookDeps, gaps: Gap[]): Promise<Audit | undefined> {
  const what = "the audit log";
  if (audit === undefined) {
    gaps.push({ what, why: "no flag says where it is", right: "--audit FILE" });
    return undefined;
  }
  try {
    const log = await audit();
    if (log.dropped + log.uncounted > 0) {
      const why = `${log.dropped} lines are no events, ${log.uncounted} calls are of too many clients`;
      gaps.push({ what, why, right: "-" });
    }
    return log;
  } catch (error) {
    gaps.push({ what, why: reasonOf(error), right: "--audit FILE that can be read" });
    return undefined;
  }
}

async function lookAtPast({ past, nowMs }: LookDeps, gaps: Gap[]): Promise<Evidence["past"]> {
  const what = "what was before this look";
  if (past === undefined) {
    gaps.push({ what, why: "no flag says where a Prometheus is", right: "--prometheus URL" });
    return undefined;
  }
  const names = rules.flatMap(({ reads }) => reads);
  const at = nowMs();
  const right = "another --prometheus URL";
  try {
    const times = [at - past.seconds * 1_000, at];
    const answers = await Promise.all(times.map((ms) => past.get(queryPath(names, ms))));
    const [before, after] = answers.map(parseVector);
    if (before === undefined || after === undefined) throw new Error("it answered no vector");
    const dropped = before.dropped + after.dropped;
    if (dropped > 0) gaps.push({ what, why: `${dropped} series were dropped`, right: "-" });
    return pastOf(before, after, past.seconds);
  } catch (error) {
    gaps.push({ what, why: reasonOf(error), right });
    return undefined;
  }
}

/** Reads which users wait and which hold seats. A server without priority and fairness has no such dump. */
async function lookAtDump(client: Client, gaps: Gap[]): Promise<readonly HeldRequest[]> {
  try {
    const body = await client.raw(dumpPath);
    return parseHeldRequests(typeof body === "string" ? body : "");
  } catch (error) {
    const right = "get on the non-resource URL /debug/api_priority_and_fairness/dump_requests";
    gaps.push({ what: "users within flow schemas", why: reasonOf(error), right });
    return [];
  }
}

async function lookAtZones(
  { client, nowMs }: LookDeps,
  nodeLeases: readonly SeenObject[],
  gaps: Gap[],
): Promise<ReadonlyMap<string, string> | undefined> {
  if (silentNodesOf({ nowMs: nowMs(), objects: { nodeLeases } }).length === 0) return undefined;
  try {
    return await readZones(client, gaps);
  } catch (error) {
    gaps.push({ what: "zones of the nodes", why: reasonOf(error), right: "list on nodes" });
    return undefined;
  }
}

async function lookAtWorkloads(
  { client }: LookDeps,
  audit: Audit | undefined,
  gaps: Gap[],
): Promise<Evidence["workloads"]> {
  if (audit === undefined) return undefined;
  const namespaces = namespacesOfCrowds({ audit }, namespacesMax);
  if (namespaces.length === 0) return undefined;
  try {
    return await readWorkloads(client, namespaces);
  } catch (error) {
    const right = "list on deployments.apps, daemonsets.apps and statefulsets.apps";
    gaps.push({ what: "workloads of busy callers", why: reasonOf(error), right });
    return undefined;
  }
}

async function lookAtPage(
  client: Client,
  { kind, ref, namespace, limit = pageMax }: Page,
  gaps: Gap[],
): Promise<readonly SeenObject[] | undefined> {
  const within = given({ namespace });
  try {
    // Version "0" accepts any version, so the API server answers from its cache.
    const { metadata, items } = await client.list<KubeObject>(ref, {
      ...within,
      limit,
      resourceVersion: "0",
    });
    // A stock server that answers from its cache returns all items, regardless of the limit.
    if (items.length > limit || (metadata.continue ?? "") !== "") {
      gaps.push({ what: `${kind} after the first ${limit}`, why: "one page is read", right: "-" });
    }
    return items.slice(0, limit).flatMap(seenOf);
  } catch (error) {
    const group = ref.group === "" ? "" : `.${ref.group}`;
    gaps.push({ what: kind, why: reasonOf(error), right: `list on ${ref.resource}${group}` });
    return undefined;
  }
}

/** The server is not trusted: fields of another type are dropped, and so are items without a name. */
function seenOf(item: unknown): readonly SeenObject[] {
  const { metadata, spec, status } = fieldsOf(item);
  const { name, namespace, deletionTimestamp, finalizers } = fieldsOf(metadata);
  if (typeof name !== "string") return [];
  return [
    {
      metadata: {
        name,
        ...(typeof namespace === "string" ? { namespace } : {}),
        ...(typeof deletionTimestamp === "string" ? { deletionTimestamp } : {}),
        finalizers: listOf(finalizers).map(String),
      },
      spec: fieldsOf(spec),
      status: { conditions: listOf(fieldsOf(status)["conditions"]).flatMap(conditionOf) },
    },
  ];
}

function conditionOf(condition: unknown): readonly SeenCondition[] {
  const { type, status, reason, message } = fieldsOf(condition);
  if (typeof type !== "string" || typeof status !== "string") return [];
  return [
    {
      type,
      status,
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof message === "string" ? { message } : {}),
    },
  ];
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
