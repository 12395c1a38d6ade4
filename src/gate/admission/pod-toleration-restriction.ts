/**
 * PodTolerationRestriction: a namespace's annotations add tolerations to its pods, and limit the tolerations that its
 * pods may have. The operator's configuration applies to a namespace without these annotations.
 */
import type { Pod, Toleration } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { failure, notFound } from "#api/status.ts";
import { podQosClass } from "#api/strategies/qos.ts";
import type { Fields } from "#api/validation/fields.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { forbiddenError, isCore, withSpec } from "./request.ts";

type Tolerations = readonly Toleration[];

export interface TolerationSettings {
  /** Default tolerations for namespaces without a list of their own. */
  readonly default: Tolerations;
  /** Allowed tolerations; empty: all. */
  readonly whitelist: Tolerations;
}

const namespaces = { group: "", resource: "namespaces" };
const annotations = {
  default: "scheduler.alpha.kubernetes.io/defaultTolerations",
  whitelist: "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
} as const;

const tolerationsMax = 2_000;

const memoryPressure: Toleration = {
  key: "node.kubernetes.io/memory-pressure",
  operator: "Exists",
  effect: "NoSchedule",
};

export function podTolerationRestriction(
  { lookup }: { readonly lookup: Lister },
  settings: TolerationSettings,
): AdmissionPlugin {
  return {
    name: "PodTolerationRestriction",
    mutate(request) {
      const object = request.object ?? {};
      if (!isConcerned(request)) return object;
      const extra = [...defaultsOf(lookup, request, settings), ...pressureOf(object)];
      const own = tolerationsOf(object);
      checkLength(request, [...own, ...extra]);
      const merged = extra.length === 0 ? own : mergeTolerations([...own, ...extra]);
      checkWhitelist(lookup, request, settings, merged);
      const isSame =
        merged.length === own.length && merged.every((toleration, at) => toleration === own[at]);
      return isSame ? object : withSpec(object, { tolerations: merged });
    },
    validate(request) {
      if (!isConcerned(request)) return;
      checkWhitelist(lookup, request, settings, tolerationsOf(request.object ?? {}));
    },
  };
}

function isConcerned(request: AdmissionRequest): boolean {
  const { operation } = request;
  return (operation === "CREATE" || operation === "UPDATE") && isCore(request, "pods");
}

function tolerationsOf(object: AnyObject): Tolerations {
  return (object as Pod).spec?.tolerations ?? [];
}

function defaultsOf(
  lookup: Lister,
  request: AdmissionRequest,
  settings: TolerationSettings,
): Tolerations {
  if (request.operation !== "CREATE") return [];
  return annotated(lookup, request.namespace, "default") ?? settings.default;
}

function pressureOf(object: AnyObject): Tolerations {
  return podQosClass((object["spec"] ?? {}) as Fields) === "BestEffort" ? [] : [memoryPressure];
}

function checkWhitelist(
  lookup: Lister,
  request: AdmissionRequest,
  settings: TolerationSettings,
  tolerations: Tolerations,
): void {
  if (tolerations.length === 0) return;
  const own = annotated(lookup, request.namespace, "whitelist");
  const whitelist = own ?? settings.whitelist;
  if (whitelist.length === 0) return;
  checkLength(request, tolerations);
  const isAllowed = (toleration: Toleration): boolean =>
    whitelist.some((allowed) => covers(allowed, toleration));
  if (tolerations.every(isAllowed)) return;
  const scope = own === undefined ? "cluster" : "namespace";
  const what = "pod tolerations (possibly merged with namespace default tolerations)";
  throw failure(500, "", `${what} conflict with its ${scope} whitelist`);
}

/** The namespace's annotation; undefined: it has none. */
function annotated(
  lookup: Lister,
  name: string,
  list: keyof typeof annotations,
): Tolerations | undefined {
  const namespace = lookup.get(namespaces, "", name);
  if (namespace === undefined) throw notFound(namespaces, name);
  const text = namespace.metadata?.annotations?.[annotations[list]];
  if (text === undefined) return undefined;
  return text === "" ? [] : tolerationList(text);
}

/** As upstream, a text that is not a list of tolerations refuses the pod. */
function tolerationList(text: string): Tolerations {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Go's text for the most frequent error, a truncated value.
    const said = (error as Error).message.replace(/^Unexpected end/, "unexpected end");
    throw failure(500, "", said);
  }
  if (value === null) return [];
  if (Array.isArray(value) && value.every(isToleration)) return value;
  throw failure(500, "", "json: cannot unmarshal value into Go value of type []v1.Toleration");
}

function isToleration(value: unknown): value is Toleration {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { tolerationSeconds, ...texts } = value as Record<string, unknown>;
  const isText = (name: string): boolean =>
    texts[name] === undefined || texts[name] === null || typeof texts[name] === "string";
  return (
    ["key", "operator", "value", "effect"].every(isText) &&
    (tolerationSeconds === undefined ||
      tolerationSeconds === null ||
      Number.isSafeInteger(tolerationSeconds))
  );
}

/** Bounds the quadratic comparison; upstream would not finish with more. */
function checkLength(request: AdmissionRequest, tolerations: Tolerations): void {
  if (tolerations.length <= tolerationsMax) return;
  throw forbiddenError(request, `the pod has more than ${tolerationsMax} tolerations`);
}

/** Drops tolerations covered by another one; of equal ones the first remains. */
function mergeTolerations(all: Tolerations): Tolerations {
  const merged: Toleration[] = [];
  for (const [at, toleration] of all.entries()) {
    if (merged.some((kept) => covers(kept, toleration))) continue;
    const later = all.slice(at + 1);
    if (later.some((other) => !isEqual(other, toleration) && covers(other, toleration))) continue;
    merged.push(toleration);
  }
  return merged;
}

function isEqual(a: Toleration, b: Toleration): boolean {
  const texts = ["key", "operator", "value", "effect"] as const;
  return (
    texts.every((name) => (a[name] ?? "") === (b[name] ?? "")) &&
    (a.tolerationSeconds ?? undefined) === (b.tolerationSeconds ?? undefined)
  );
}

/** Whether `wide` tolerates everything that `narrow` does, at least as long. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (isEqual(wide, narrow)) return true;
  const wideKey = wide.key ?? "";
  const hasAnyKey = wideKey === "" && wide.operator === "Exists";
  if (wideKey !== (narrow.key ?? "") && !hasAnyKey) return false;
  const wideEffect = wide.effect ?? "";
  if (wideEffect !== "" && wideEffect !== (narrow.effect ?? "")) return false;
  if (wideEffect === "NoExecute" && !lastsAsLong(wide, narrow)) return false;
  if (wide.operator === "Exists") return true;
  if (![undefined, "", "Equal"].includes(wide.operator)) return false;
  return narrow.operator === "Equal" && (wide.value ?? "") === (narrow.value ?? "");
}

function lastsAsLong(wide: Toleration, narrow: Toleration): boolean {
  const most = wide.tolerationSeconds ?? undefined;
  if (most === undefined) return true;
  const asked = narrow.tolerationSeconds ?? undefined;
  return asked !== undefined && asked <= most;
}
