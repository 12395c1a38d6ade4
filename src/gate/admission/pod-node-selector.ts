/**
 * PodNodeSelector: pods run on the nodes that an annotation of their namespace selects, or else the operator's
 * `clusterDefaultNodeSelector`. Pods may select only nodes that the operator allows for their namespace.
 */
import { ownEntry } from "#base/own.ts";
import type { Pod } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import { parseLabelSelector, SelectorError } from "#api/selectors/label-selector.ts";
import { failure, forbidden, notFound } from "#api/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, withSpec } from "./request.ts";

type Labels = Readonly<Record<string, string>>;

const annotation = "scheduler.alpha.kubernetes.io/node-selector";
const namespaces = { group: "", resource: "namespaces" };
const pods = { group: "", resource: "pods" };

const clusterDefault = "clusterDefaultNodeSelector";

/** `selectors`: the operator's selectors by namespace, to which pods there are limited. */
export function podNodeSelector(
  { lookup }: { readonly lookup: Lister },
  selectors: Labels = {},
): AdmissionPlugin {
  return {
    name: "PodNodeSelector",
    mutate(request) {
      const object = request.object ?? {};
      if (!isConcerned(request)) return object;
      const selector = selectorOf(lookup, request.namespace, selectors);
      const own = (object as Pod).spec?.nodeSelector ?? {};
      checkConflict(request, selector, own);
      if (Object.keys(selector).every((key) => Object.hasOwn(own, key))) return object;
      return withSpec(object, { nodeSelector: { ...selector, ...own } });
    },
    validate(request) {
      if (!isConcerned(request)) return;
      const { spec } = (request.object ?? {}) as Pod;
      const own = spec?.nodeSelector ?? {};
      checkConflict(request, selectorOf(lookup, request.namespace, selectors), own);
      checkAllowed(request, labelsOf(ownEntry(selectors, request.namespace) ?? ""), own);
    },
  };
}

function isConcerned(request: AdmissionRequest): boolean {
  return request.operation === "CREATE" && isCore(request, "pods");
}

function selectorOf(lookup: Lister, name: string, selectors: Labels): Labels {
  const namespace = lookup.get(namespaces, "", name);
  if (namespace === undefined) throw notFound(namespaces, name);
  const text = namespace.metadata?.annotations?.[annotation];
  return labelsOf(text ?? ownEntry(selectors, clusterDefault) ?? "");
}

/** Parses `key=value` pairs. @throws ApiError 500 without a reason, as upstream. */
function labelsOf(text: string): Labels {
  if (text === "") return {};
  return Object.fromEntries(text.split(",").map(labelOf));
}

function labelOf(label: string): readonly [string, string] {
  const [key = "", value = "", ...more] = label.split("=");
  if (more.length > 0 || !label.includes("=")) {
    throw failure(500, "", `invalid selector: [${label.split("=").join(" ")}]`);
  }
  try {
    parseLabelSelector(`${key}=${value}`);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw failure(500, "", error.message);
  }
  return [key.trim(), value.trim()];
}

function checkConflict(request: AdmissionRequest, selector: Labels, own: Labels): void {
  const isConflict = Object.entries(selector).some(
    ([key, value]) => Object.hasOwn(own, key) && own[key] !== value,
  );
  if (!isConflict) return;
  const why = "pod node label selector conflicts with its namespace node label selector";
  throw forbidden(pods, request.object?.metadata?.name ?? "", why);
}

/** An empty list allows everything. */
function checkAllowed(request: AdmissionRequest, allowed: Labels, own: Labels): void {
  if (Object.keys(allowed).length === 0) return;
  if (Object.entries(own).every(([key, value]) => ownEntry(allowed, key) === value)) return;
  const why = "pod node label selector labels conflict with its namespace whitelist";
  throw forbidden(pods, request.object?.metadata?.name ?? "", why);
}
