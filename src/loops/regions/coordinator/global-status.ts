/** The status to write into a global object. Undefined: the kind has no aggregated status, or the object is in no region yet. */
import type { AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { annotations } from "../names.ts";
import { spreadOf } from "../placement.ts";
import { aggregateReplicas, type RegionPart } from "../status/aggregate.ts";
import { sharesOf, type Round } from "./carry-out.ts";

export function globalStatus(
  object: AnyObject,
  round: Round,
  nowText: string,
): Readonly<Record<string, unknown>> | undefined {
  if (spreadOf(object) === undefined) return undefined;
  const uid = object.metadata?.uid ?? "";
  const shares = sharesOf(round, uid);
  const parts = [...shares].map(([name, asked]) => ({
    asked,
    object: partIn(object, round, name),
  }));
  if (object.kind === "Job" || object.kind === "CronJob") return onlyStatus(parts);
  return aggregateReplicas(object, parts, { nowText });
}

/** Returns undefined for a region that does not answer. */
function partIn(object: AnyObject, round: Round, name: string): AnyObject | undefined {
  const region = round.regions.find(({ view }) => view.name === name);
  const source = round.objects.find((one) => one.object === object);
  if (region === undefined || source === undefined || !region.view.isReachable) return undefined;
  const { namespace = "", name: own = "" } = object.metadata ?? {};
  const there = region.connection.placed(source.ref).get(namespace, own);
  return there?.metadata?.annotations?.[annotations.source] === object.metadata?.uid
    ? there
    : undefined;
}

/** Returns the status that the only region reports for a whole workload without replicas. */
function onlyStatus(parts: readonly RegionPart[]): Readonly<Record<string, unknown>> | undefined {
  const status = parts[0]?.object?.["status"];
  return isRecord(status) ? status : undefined;
}
