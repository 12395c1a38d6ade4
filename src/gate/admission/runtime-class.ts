/** RuntimeClass: a pod gets the overhead and scheduling constraints of its class. */
import { ownEntry } from "#base/own.ts";
import type { Pod, RuntimeClass, Toleration } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { canonicalQuantity } from "#api/values/quantity.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, quote, forbiddenError, withSpec } from "./request.ts";

const classes = { group: "node.k8s.io", resource: "runtimeclasses" };

export function runtimeClass(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "RuntimeClass",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      if (!isCore(request, "pods") || request.operation !== "CREATE") return object;
      const found = classOf(deps.lookup, request);
      return found === undefined ? object : applyClass(request, object, found);
    },
    validate(request: AdmissionRequest): void {
      if (!isCore(request, "pods") || request.operation !== "CREATE") return;
      const overhead = (request.object as Pod).spec?.overhead;
      const fixed = classOf(deps.lookup, request)?.overhead?.podFixed;
      if (fixed === undefined && overhead !== undefined) {
        throw forbiddenError(
          request,
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        );
      }
      if (fixed !== undefined && !sameAmounts(fixed, overhead ?? {})) throw mismatch(request);
    },
  };
}

function classOf(lookup: Lister, request: AdmissionRequest): RuntimeClass | undefined {
  const name = (request.object as Pod).spec?.runtimeClassName;
  if (name === undefined) return undefined;
  const found = lookup.get(classes, "", name) as unknown as RuntimeClass | undefined;
  if (found === undefined) {
    throw forbiddenError(request, `pod rejected: RuntimeClass ${quote(name)} not found`);
  }
  return found;
}

function applyClass(request: AdmissionRequest, object: AnyObject, found: RuntimeClass): AnyObject {
  const spec = (object as Pod).spec ?? { containers: [] };
  const fixed = found.overhead?.podFixed;
  const given = spec.overhead ?? {};
  if (fixed !== undefined && Object.keys(given).length > 0 && !sameAmounts(fixed, given)) {
    throw mismatch(request);
  }
  const scheduling = found.scheduling;
  return withSpec(object, {
    ...(fixed === undefined ? {} : { overhead: fixed }),
    ...(scheduling?.nodeSelector === undefined
      ? {}
      : { nodeSelector: mergeSelector(request, spec.nodeSelector ?? {}, scheduling.nodeSelector) }),
    ...(scheduling?.tolerations === undefined
      ? {}
      : { tolerations: mergeTolerations(spec.tolerations ?? [], scheduling.tolerations) }),
  });
}

function mismatch(request: AdmissionRequest) {
  return forbiddenError(
    request,
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  );
}

type Texts = Readonly<Record<string, string>>;

function sameAmounts(a: Texts, b: Texts): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => canonical(ownEntry(a, name)) === canonical(ownEntry(b, name)));
}

function canonical(text: string | undefined): string | undefined {
  return text === undefined ? undefined : canonicalQuantity(text);
}

function mergeSelector(request: AdmissionRequest, pod: Texts, own: Texts): Texts {
  for (const [key, value] of Object.entries(own)) {
    const given = ownEntry(pod, key);
    if (given === undefined || given === value) continue;
    throw forbiddenError(
      request,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${given}`,
    );
  }
  return { ...pod, ...own };
}

/** The pod's own tolerations first; duplicates are not added. */
function mergeTolerations(
  pod: readonly Toleration[],
  own: readonly Toleration[],
): readonly Toleration[] {
  const key = (t: Toleration): string =>
    JSON.stringify([t.key, t.operator, t.value, t.effect, t.tolerationSeconds]);
  const known = new Set(pod.map(key));
  return [...pod, ...own.filter((toleration) => !known.has(key(toleration)))];
}
