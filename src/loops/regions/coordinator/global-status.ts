/** The status to write into a global object; undefined: its kind has none that is added up, or it is nowhere yet. */
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

/** A region that does not answer says nothing. */
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

/** Of a whole workload that has no replicas: what its one region says. */
function onlyStatus(parts: readonly RegionPart[]): Readonly<Record<string, unknown>> | undefined {
  const status = parts[0]?.object?.["status"];
  return isRecord(status) ? status : undefined;
}
