/**
 * One look at a control plane: two samples of its metrics and a page of each kind that rules read.
 *
 * In     a client whose calls end by themselves: `cmd` gives each request a deadline.
 * Out    evidence that is whole but for its gaps; nothing that fails here throws.
 * Cost   five requests, four of them at once; no list is longer than a page.
 */
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { Evidence, Gap, SeenCondition, SeenKind, SeenObject } from "./evidence.ts";
import { type Metrics, parseMetrics } from "./metrics-text.ts";
import { rules } from "./rules.ts";

interface LookDeps {
  readonly client: Client;
  readonly nowMs: () => number;
  /** Resolves when the second sample is due. */
  readonly pause: () => Promise<void>;
  readonly servingCertificateEndMs: () => Promise<number | undefined>;
}

const pageMax = 500;
const nothing: Metrics = { series: [], dropped: 0 };

interface Page {
  readonly kind: SeenKind;
  readonly ref: ResourceRef;
  readonly namespace?: string;
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
];

export async function look(deps: LookDeps): Promise<Evidence> {
  const gaps: Gap[] = [];
  const firstMs = deps.nowMs();
  const [before, servingCertificateEndMs, namespaces, apiservices, leases] = await Promise.all([
    lookAtMetrics(deps.client, gaps),
    deps.servingCertificateEndMs(),
    ...pages.map((page) => lookAtPage(deps.client, page, gaps)),
  ]);
  const canSample = before !== nothing;
  if (canSample) await deps.pause();
  const after = canSample ? await lookAtMetrics(deps.client, gaps) : nothing;
  const nowMs = deps.nowMs();
  return {
    nowMs,
    before,
    after,
    secondsBetween: (nowMs - firstMs) / 1_000,
    objects: {
      namespaces: namespaces ?? [],
      apiservices: apiservices ?? [],
      leases: leases ?? [],
    },
    servingCertificateEndMs,
    hasAnswer: canSample || [namespaces, apiservices, leases].some((page) => page !== undefined),
    gaps,
  };
}

async function lookAtMetrics(client: Client, gaps: Gap[]): Promise<Metrics> {
  const wanted = new Set(rules.flatMap(({ reads }) => reads));
  const what = "/metrics of the API server";
  const right = "get on the non-resource URL /metrics";
  try {
    const body = await client.raw("/metrics");
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

async function lookAtPage(
  client: Client,
  { kind, ref, namespace }: Page,
  gaps: Gap[],
): Promise<readonly SeenObject[] | undefined> {
  const within = namespace === undefined ? {} : { namespace };
  try {
    // Any version will do, so the API server answers from its cache.
    const { metadata, items } = await client.list<KubeObject>(ref, {
      ...within,
      limit: pageMax,
      resourceVersion: "0",
    });
    if (metadata.continue !== undefined && metadata.continue !== "") {
      gaps.push({
        what: `${kind} after the first ${pageMax}`,
        why: "one page is read",
        right: "-",
      });
    }
    return items.slice(0, pageMax).flatMap(seenOf);
  } catch (error) {
    const group = ref.group === "" ? "" : `.${ref.group}`;
    gaps.push({ what: kind, why: reasonOf(error), right: `list on ${ref.resource}${group}` });
    return undefined;
  }
}

/** The server may be anybody's: fields of another type are left out, an item without a name is none. */
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
