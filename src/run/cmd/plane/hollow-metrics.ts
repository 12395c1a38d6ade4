/**
 * metrics.k8s.io of a plane with hollow nodes: answered in this process, where no APIService leads to a metrics server.
 *
 * Holds  an APIService for the same group-version wins, as long as it is there: a real metrics-server is installed as anywhere.
 *        Answers are JSON, whatever form was asked for: clients that prefer another take it as well.
 * Cost   of a list, a look at each pod it selects; of the nodes, at every pod.
 */
import type { Lister } from "#api/lister.ts";
import type { Node, Pod } from "#api/gen/types.ts";
import type { AnyObject, GroupResource, JsonObject } from "#api/object.ts";
import { type FieldSelector, parseFieldSelector } from "#api/selectors/field-selector.ts";
import { labelsMatch, parseLabelSelector, SelectorError } from "#api/selectors/label-selector.ts";
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import { badRequest, notFound } from "#api/status.ts";
import type { Delegate, Delegates } from "#apiserver/delegates.ts";
import { requireGet } from "#apiserver/method.ts";
import type { RemoteVersion } from "#apiserver/discovery/merged.ts";
import type { Negotiated } from "#forms/negotiate.ts";
import { isHollow, metricsList, nodeMetrics, podMetrics } from "#hollow/metrics-objects.ts";
import type { UsageRule } from "#hollow/usage-rules.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { objectResponse } from "#server/respond.ts";

const group = "metrics.k8s.io";
const version = "v1beta1";
const pods: GroupResource = { group: "", resource: "pods" };
const nodes: GroupResource = { group: "", resource: "nodes" };
const verbs = ["get", "list"];

const responseKind = (kind: string) => ({ group, version, kind });

/** The priorities are those of metrics-server's APIService. */
const described: RemoteVersion = {
  group,
  version,
  groupPriority: 100,
  versionPriority: 100,
  isStale: false,
  resources: [
    {
      resource: "nodes",
      responseKind: responseKind("NodeMetrics"),
      scope: "Cluster",
      singularResource: "",
      verbs,
    },
    {
      resource: "pods",
      responseKind: responseKind("PodMetrics"),
      scope: "Namespaced",
      singularResource: "",
      verbs,
    },
  ],
};

/** The discovery document of `described` for `/apis/metrics.k8s.io/v1beta1`, in the non-aggregated form. */
const resourceList = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/${version}`,
  resources: described.resources.map((one) => ({
    name: one.resource,
    singularName: one.singularResource,
    namespaced: one.scope === "Namespaced",
    kind: one.responseKind.kind,
    verbs,
  })),
};

/** Adds metrics.k8s.io to `others`, unless they already serve it. */
export function withHollowMetrics(
  others: Delegates,
  lookup: Lister,
  rules: readonly UsageRule[] = [],
): Delegates {
  const own: Delegate = { serve: async (context) => serve({ lookup, rules }, context) };
  const isOwn = (g: string, v: string): boolean => g === group && v === version;
  return {
    get size() {
      return others.size + 1;
    },
    find: (g, v) => others.find(g, v) ?? (isOwn(g, v) ? own : undefined),
    versions() {
      const known = others.versions();
      return known.some((one) => isOwn(one.group, one.version)) ? known : [...known, described];
    },
    openapiV3: () => others.openapiV3(),
    openapiV2: () => others.openapiV2(),
    onChange: (changed) => others.onChange(changed),
  };
}

interface Source {
  readonly lookup: Lister;
  readonly rules: readonly UsageRule[];
}

async function serve(from: Source, context: RequestContext): Promise<PlainResponse> {
  const { request, requestInfo } = context;
  const { resource } = requestInfo;
  requireGet(request);
  const form: Negotiated = { mediaType: "application/json", isPretty: false };
  const answer = (object: object) => objectResponse(request, 200, object, form);
  if (resource === "pods") return answer(podsAnswer(from, context));
  if (resource === "nodes") return answer(nodesAnswer(from, context));
  if (resource === "") return answer(resourceList);
  throw notFound({ group, resource }, context.place.name);
}

function podsAnswer(
  { lookup, rules }: Source,
  { place, query, nowMs }: RequestContext,
): JsonObject {
  const { namespace, name } = place;
  if (name !== "") {
    const pod = lookup.get(pods, namespace, name) as Pod | undefined;
    const metrics = pod && isOnHollow(lookup, pod) ? podMetrics(pod, nowMs, rules) : undefined;
    if (metrics === undefined) throw notFound({ group, resource: "pods" }, `${namespace}/${name}`);
    return metrics;
  }
  const selected = lookup.list(pods, namespace).filter(matcher(query, "pods"));
  const items = (selected as readonly Pod[])
    .filter((pod) => isOnHollow(lookup, pod))
    .map((pod) => podMetrics(pod, nowMs, rules))
    .filter((one) => one !== undefined);
  return metricsList("PodMetricsList", items);
}

function isOnHollow(lookup: Lister, { spec }: Pod): boolean {
  const { nodeName = "" } = spec ?? {};
  const node = nodeName === "" ? undefined : lookup.get(nodes, "", nodeName);
  return node !== undefined && isHollow(node as unknown as Node);
}

function nodesAnswer(
  { lookup, rules }: Source,
  { place, query, nowMs }: RequestContext,
): JsonObject {
  const bound = Map.groupBy(
    lookup.list(pods, "") as readonly Pod[],
    ({ spec }) => spec?.nodeName ?? "",
  );
  const metricsOf = (node: AnyObject) =>
    nodeMetrics(node as unknown as Node, bound.get(node.metadata?.name ?? "") ?? [], nowMs, rules);
  const { name } = place;
  if (name !== "") {
    const node = lookup.get(nodes, "", name);
    if (node !== undefined && isHollow(node as unknown as Node)) return metricsOf(node);
    throw notFound({ group, resource: "nodes" }, name);
  }
  const selected = lookup.list(nodes, "").filter(matcher(query, "nodes"));
  const hollow = selected.filter((node) => isHollow(node as unknown as Node));
  return metricsList("NodeMetricsList", hollow.map(metricsOf));
}

/** @throws ApiError 400 for an invalid selector */
function matcher(query: URLSearchParams, resource: string): (object: AnyObject) => boolean {
  try {
    const labels = parseLabelSelector(query.get("labelSelector") ?? "");
    const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
    return (object) =>
      labelsMatch(labels, object.metadata?.labels) && fieldsMatch(fields, resource, object);
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

function fieldsMatch({ requirements }: FieldSelector, resource: string, object: AnyObject) {
  return requirements.every(
    ({ field, operator, value }) =>
      (fieldValue("", resource, object, field) === value) === (operator === "="),
  );
}
