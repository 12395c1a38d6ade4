/**
 * The division of a placement's objects among regions: what was decided before, and what has changed since.
 *
 * In     the policy, its objects, what is known of regions, and the division as it is stored.
 * Out    the division to store next, and how long it stays right without an event.
 * Holds  the same input gives the same division; `budget` is asked only for replicas that leave regions which do not answer.
 *        A whole workload has one holder; `from` names the one before until that is known to be over.
 */
import type { AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { chooseWhole, divide, type RegionClaim, type Standing } from "../divide/divide.ts";
import type { MoveBudget } from "../failure/move-budget.ts";
import { annotations } from "../names.ts";
import { templateOf } from "./dependencies.ts";
import type { PlacedObject, PlacementSpec } from "../placement.ts";

export interface RegionView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the policy selects the region. */
  readonly isChosen: boolean;
  readonly isReachable: boolean;
  /** Whether an operator ordered that the region's workloads do not count any more. */
  readonly isLost: boolean;
  readonly standing: Standing;
  readonly cost: number;
  /** Whether the fence guarantees that no whole workload runs in the region any more. */
  readonly isFenceOver: boolean;
  /** Number of pods of the object's shape that still fit. Undefined: not known. */
  free(object: AnyObject): number | undefined;
  /** Maximum number of replicas that became ready in a region where others did not in time. Undefined: no replica is overdue. */
  roomFor(uid: string): number | undefined;
  /** Whether the region was seen to have no pod of this object. False while that is not known. */
  isEmptyOf(uid: string): boolean;
}

type Budget = Pick<MoveBudget, "take" | "putBack" | "waitMs">;

interface Decision {
  readonly object: PlacedObject;
  /** Whether the budget allowed fewer moves than were wanted. */
  readonly isHeldBack: boolean;
}

export function decideDivided(
  object: AnyObject,
  spec: PlacementSpec,
  regions: readonly RegionView[],
  stored: PlacedObject | undefined,
  budget: Budget,
): Decision {
  const total = replicasOf(object);
  const uid = object.metadata?.uid ?? "";
  const before = new Map(stored?.regions.map(({ name, replicas }) => [name, replicas]));
  const known = withForgotten(regions, before);
  const asked = lostReplicas(known, before);
  const granted = asked === 0 ? 0 : budget.take(asked, openRoom(known, object));
  let release = granted;
  const claims = known.map((region): RegionClaim => {
    const had = before.get(region.name) ?? 0;
    const standing = region.isChosen ? region.standing : unchosen(region);
    const mine = isLostTo(region) ? Math.min(had, release) : had;
    if (isLostTo(region)) release -= mine;
    return claimOf(region, { object, uid, spec, had, standing, release: mine });
  });
  const options = { sticky: isSticky(spec), spread: spec.spreadBy !== "" };
  const { shares, unplaced } = divide(total, claims, options);
  const moved = known
    .filter(isLostTo)
    .reduce((all, { name }) => all + (before.get(name) ?? 0) - (shares.get(name) ?? 0), 0);
  budget.putBack(Math.max(0, granted - Math.max(0, moved)));
  const kept = [...shares].filter(([, replicas]) => replicas > 0);
  return {
    object: {
      object: nameOf(object),
      uid,
      regions: kept.map(([name, replicas]) => ({ name, replicas })),
      ...(unplaced === 0 ? {} : { unplaced }),
    },
    isHeldBack: granted < asked,
  };
}

/** Whether the region is given up and does not answer or is lost. Replicas that leave it are charged to the budget. */
function isLostTo({ isReachable, standing, isLost }: RegionView): boolean {
  return (!isReachable || isLost) && standing === "closed";
}

/** Standing of a region that the policy no longer selects: closed if it answers; else its state is unknown, hence silent. */
function unchosen({ isReachable, standing }: RegionView): Standing {
  return isReachable || standing === "closed" ? "closed" : "silent";
}

function lostReplicas(regions: readonly RegionView[], before: ReadonlyMap<string, number>): number {
  return regions.filter(isLostTo).reduce((all, { name }) => all + (before.get(name) ?? 0), 0);
}

function openRoom(regions: readonly RegionView[], object: AnyObject): number | undefined {
  const rooms = regions
    .filter(({ isChosen, standing }) => isChosen && standing === "open")
    .map((region) => region.free(object));
  const known = rooms.filter((room) => room !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, room) => all + room, 0);
}

/** Adds regions whose profile is gone. Their replicas are placed elsewhere, without charge to the budget. */
function withForgotten(
  regions: readonly RegionView[],
  before: ReadonlyMap<string, number>,
): readonly RegionView[] {
  const names = new Set(regions.map(({ name }) => name));
  const gone = [...before.keys()].filter((name) => !names.has(name));
  return [...regions, ...gone.map(leftRegion)];
}

function leftRegion(name: string): RegionView {
  return {
    name,
    labels: {},
    isChosen: false,
    isReachable: true,
    isLost: false,
    standing: "closed",
    cost: 1,
    isFenceOver: true,
    free: () => 0,
    roomFor: () => undefined,
    isEmptyOf: () => true,
  };
}

interface ClaimParts {
  readonly object: AnyObject;
  readonly uid: string;
  readonly spec: PlacementSpec;
  readonly had: number;
  readonly standing: Standing;
  readonly release: number;
}

function claimOf(region: RegionView, parts: ClaimParts): RegionClaim {
  const { object, uid, spec, had, standing, release } = parts;
  const bounds = { ...spec.each, ...spec.named.get(region.name) };
  const room = region.roomFor(uid);
  const reported = spec.weights === "FreeCapacity" ? region.free(object) : undefined;
  const free = room === undefined ? reported : room - had;
  return {
    name: region.name,
    weight: weightOf(region, parts, bounds.weight),
    least: bounds.min ?? 0,
    most: bounds.max ?? Number.MAX_SAFE_INTEGER,
    standing,
    before: had,
    release,
    domain: region.labels[spec.spreadBy] ?? "",
    ...(free === undefined ? {} : { free }),
  };
}

function weightOf(
  region: RegionView,
  { object, spec, had }: ClaimParts,
  given: number | undefined,
): number {
  if (given !== undefined) return given;
  if (spec.weights === "Cost") return 1 / Math.max(0.001, region.cost);
  if (spec.weights === "Equal") return 1;
  return Math.max(0.001, had + (region.free(object) ?? 0));
}

/** Whether existing replicas stay where they are. Room and prices change all the time, so they decide about new replicas only. */
function isSticky({ weights, failover }: PlacementSpec): boolean {
  return weights !== "Equal" || failover.onReturn === "Stay";
}

export function decideWhole(
  object: AnyObject,
  spec: PlacementSpec,
  regions: readonly RegionView[],
  stored: PlacedObject | undefined,
): Decision {
  const uid = object.metadata?.uid ?? "";
  const holder = stored?.regions[0]?.name;
  const isFenced = spec.failover.singletons === "Fenced" && endsInTime(object);
  const from = stillHolding(stored?.from, uid, isFenced, regions) ? stored?.from : undefined;
  const claims = regions.map((region) => {
    const had = region.name === holder ? 1 : 0;
    const standing = region.isChosen ? region.standing : unchosen(region);
    const parts = { object, uid, spec, had, standing, release: had };
    const free = region.free(object);
    return { ...claimOf(region, parts), ...(free === undefined ? {} : { free }) };
  });
  const old = regions.find(({ name }) => name === holder);
  const mayLeave = from === undefined && (old === undefined || mayMove(old, isFenced));
  const next = chooseWhole(claims, mayLeave);
  const leaves = old !== undefined && next !== holder ? holder : from;
  const replicas = replicasOf(object);
  return {
    object: {
      object: nameOf(object),
      uid,
      regions: next === undefined ? [] : [{ name: next, replicas }],
      ...(next === undefined ? { unplaced: replicas } : {}),
      ...(leaves === undefined ? {} : { from: leaves }),
    },
    isHeldBack: false,
  };
}

/** Whether the workload may leave the region. If the region does not answer, an operator's order or the end of its fence is required. */
function mayMove(region: RegionView, isFenced: boolean): boolean {
  if (region.isLost || (region.isReachable && region.standing === "closed")) return true;
  return isFenced && region.isFenceOver;
}

/** Maximum grace period, in seconds, of a pod that the fence waits for. */
const graceSecondsMost = 30;

function endsInTime(object: AnyObject): boolean {
  const spec = templateOf(object)?.["spec"];
  const grace = isRecord(spec) ? spec["terminationGracePeriodSeconds"] : undefined;
  return typeof grace !== "number" || grace <= graceSecondsMost;
}

function stillHolding(
  from: string | undefined,
  uid: string,
  isFenced: boolean,
  regions: readonly RegionView[],
): boolean {
  const region = regions.find(({ name }) => name === from);
  if (region === undefined || region.isEmptyOf(uid) || region.isLost) return false;
  return !(isFenced && !region.isReachable && region.isFenceOver);
}

export function replicasOf(object: AnyObject): number {
  if (object.kind === "Job" || object.kind === "CronJob") return 1;
  const spec = isRecord(object["spec"]) ? object["spec"] : {};
  const replicas = spec["replicas"];
  return typeof replicas === "number" && Number.isSafeInteger(replicas) ? Math.max(0, replicas) : 1;
}

function nameOf({ kind = "", metadata }: AnyObject): string {
  return `${kind}/${metadata?.name ?? ""}`;
}

/** Returns the cost that an operator set on a profile; 1 if no valid number is set. */
export function costOf(notes: Readonly<Record<string, string>> | undefined): number {
  const cost = Number(notes?.[annotations.cost] ?? "1");
  return Number.isFinite(cost) && cost > 0 ? cost : 1;
}
