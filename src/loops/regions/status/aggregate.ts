/**
 * The status of a global object, from those of its parts in regions.
 *
 * Holds  `observedGeneration` is the object's own only when every region that answers was given this generation and its own
 *        controllers have seen it; so `kubectl rollout status` waits for all of them.
 *        A region counts for at most what it was asked for, and its surge: what it claims beyond, or what is no whole number,
 *        is not believed. A region that does not answer counts with nothing ready.
 */
import type { AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { annotations } from "../names.ts";

export interface RegionPart {
  /** The object as stored in the region. Undefined: it is absent, or the region is not reachable. */
  readonly object: AnyObject | undefined;
  /** Number of replicas requested from the region. */
  readonly asked: number;
}

interface Counts {
  replicas: number;
  updatedReplicas: number;
  readyReplicas: number;
  availableReplicas: number;
}

const none: Readonly<Counts> = {
  replicas: 0,
  updatedReplicas: 0,
  readyReplicas: 0,
  availableReplicas: 0,
};

/** Adds up the status of Deployments, ReplicaSets and StatefulSets. `nowText`: time for conditions that change. */
export function aggregateReplicas(
  source: AnyObject,
  parts: readonly RegionPart[],
  { nowText }: { readonly nowText: string },
): Readonly<Record<string, unknown>> {
  const generation = Number(source.metadata?.generation ?? 0);
  const old = isRecord(source["status"]) ? source["status"] : {};
  const counts = { ...none };
  for (const part of parts) addCounts(counts, part);
  const seen = parts.every((part) => hasSeen(part, generation));
  const wanted = wantedReplicas(source);
  const before = Number(old["observedGeneration"] ?? 0);
  // A generation that every region had observed stays observed when one of them stops to answer.
  const observed = seen ? generation : Math.min(before, generation);
  const status = {
    ...counts,
    observedGeneration: observed,
    ...(source.kind === "Deployment"
      ? { unavailableReplicas: Math.max(0, wanted - counts.availableReplicas) }
      : {}),
  };
  if (source.kind !== "Deployment") return { ...old, ...status };
  return { ...status, conditions: deploymentConditions(old, parts, counts, { wanted, nowText }) };
}

function addCounts(counts: Counts, { object, asked }: RegionPart): void {
  const status = isRecord(object?.["status"]) ? object["status"] : {};
  const most = asked + surgeOf(object, asked);
  for (const field of [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
  ] as const) {
    counts[field] += believed(status[field], most);
  }
}

function believed(value: unknown, most: number): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0
    ? Math.min(value, most)
    : 0;
}

/** Allowed number of replicas above `asked`, for a rolling update or a scale-down that has not finished yet. */
function surgeOf(object: AnyObject | undefined, asked: number): number {
  const spec = isRecord(object?.["spec"]) ? object["spec"] : {};
  const strategy = isRecord(spec["strategy"]) ? spec["strategy"] : {};
  const rolling = isRecord(strategy["rollingUpdate"]) ? strategy["rollingUpdate"] : {};
  const surge = rolling["maxSurge"];
  if (typeof surge === "number") return Math.max(0, Math.min(surge, asked));
  const percent = /^(\d{1,3})%$/.exec(typeof surge === "string" ? surge : "25%")?.[1] ?? "0";
  return Math.ceil((Number(percent) * asked) / 100);
}

function hasSeen({ object, asked }: RegionPart, generation: number): boolean {
  if (object === undefined) return asked === 0;
  const given = object.metadata?.annotations?.[annotations.generation];
  const status = isRecord(object["status"]) ? object["status"] : {};
  const observed = Number(status["observedGeneration"] ?? 0);
  return given === String(generation) && observed >= Number(object.metadata?.generation ?? 0);
}

function wantedReplicas(source: AnyObject): number {
  const spec = isRecord(source["spec"]) ? source["spec"] : {};
  return typeof spec["replicas"] === "number" ? spec["replicas"] : 1;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastUpdateTime: string;
  readonly lastTransitionTime: string;
}

function deploymentConditions(
  old: Readonly<Record<string, unknown>>,
  parts: readonly RegionPart[],
  counts: Counts,
  { wanted, nowText }: { readonly wanted: number; readonly nowText: string },
): readonly Condition[] {
  const failed = parts.find(
    ({ object }) => conditionOf(object, "Progressing")?.["reason"] === deadline,
  );
  const isDone = counts.updatedReplicas >= wanted && counts.availableReplicas >= wanted;
  const isAvailable = parts.every(
    ({ object, asked }) => asked === 0 || conditionOf(object, "Available")?.["status"] === "True",
  );
  const available = isAvailable
    ? ["True", "MinimumReplicasAvailable", "Every region has minimum availability."]
    : ["False", "MinimumReplicasUnavailable", "A region does not have minimum availability."];
  const progressing =
    failed !== undefined
      ? ["False", deadline, "A region has made no progress within its deadline."]
      : isDone
        ? ["True", "NewReplicaSetAvailable", "Every region has successfully progressed."]
        : ["True", "ReplicaSetUpdated", "Regions are progressing."];
  const before = listOf(old["conditions"]);
  return [
    condition("Available", available, before, nowText),
    condition("Progressing", progressing, before, nowText),
  ];
}

/** Builds a condition; its times stay unless the status changes, or, for `lastUpdateTime`, the reason. */
function condition(
  type: string,
  [status = "", reason = "", message = ""]: readonly string[],
  olds: readonly Readonly<Record<string, unknown>>[],
  nowText: string,
): Condition {
  const old = olds.find((one) => one["type"] === type) ?? {};
  const isSame = old["status"] === status;
  const time = (field: string): string => {
    const text = old[field];
    return typeof text === "string" ? text : nowText;
  };
  return {
    type,
    status,
    reason,
    message,
    lastUpdateTime: isSame && old["reason"] === reason ? time("lastUpdateTime") : nowText,
    lastTransitionTime: isSame ? time("lastTransitionTime") : nowText,
  };
}

const deadline = "ProgressDeadlineExceeded";

function conditionOf(
  object: AnyObject | undefined,
  type: string,
): Readonly<Record<string, unknown>> | undefined {
  const status = isRecord(object?.["status"]) ? object["status"] : {};
  return listOf(status["conditions"]).find((one) => one["type"] === type);
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
