/**
 * A stored decision brought to the regions that answer, region by region; one that fails does not hold up the others.
 *
 * Holds  a whole workload is applied only where it belongs, and only while no other region may still have it (`from`).
 *        Replicas are paced: plan/pace.ts.
 */
import type { AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { ResourceRef } from "#client/client.ts";
import { isTransient } from "#client/api-errors.ts";
import { annotations } from "../names.ts";
import { spreadOf, type Placement, type PlacementSpec } from "../placement.ts";
import { replicasOf, type RegionView } from "../plan/decide.ts";
import { dependenciesOf } from "../plan/dependencies.ts";
import { disruptionShares } from "../plan/disruption-shares.ts";
import { pace } from "../plan/pace.ts";
import { regionObject } from "../plan/region-object.ts";
import type { RegionConnection } from "./region-connection.ts";
import type { RegionWriter, WantedObject } from "./region-writer.ts";
import type { StuckReplicas } from "./stuck-replicas.ts";

interface RoundRegion {
  readonly view: RegionView;
  readonly connection: RegionConnection;
}

/** Objects, decision and regions of one placement, collected for one reconcile. */
export interface Round {
  readonly placement: Placement;
  readonly spec: PlacementSpec;
  readonly objects: readonly WantedObject[];
  readonly kinds: readonly ResourceRef[];
  readonly regions: readonly RoundRegion[];
  /** Returns an object of the placement's namespace from the home cluster. */
  find(ref: ResourceRef, name: string): AnyObject | undefined;
}

interface CarryOutDeps {
  readonly writer: RegionWriter;
  readonly stuck: StuckReplicas;
}

/** @returns the problems that an operator should know. Passing errors are thrown, so that the caller tries again. */
export async function carryOut(round: Round, deps: CarryOutDeps): Promise<readonly string[]> {
  const asked = askedReplicas(round, deps.stuck);
  const reachable = round.regions.filter(({ view }) => view.isReachable);
  const results = await Promise.allSettled(
    reachable.map((region) => writeRegion(round, region, asked, deps.writer)),
  );
  const problems: string[] = [];
  let passing: unknown;
  for (const [at, result] of results.entries()) {
    if (result.status === "fulfilled") problems.push(...result.value);
    else if (isTransient(result.reason)) passing = result.reason;
    else problems.push(`${reachable[at]?.view.name}: ${textOf(result.reason)}`);
  }
  if (passing !== undefined && problems.length === 0) throw passing;
  return problems;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 300) : String(error);
}

/** By uid and region: number of replicas to request there now. Absent: the object must not be in that region. */
type Asked = ReadonlyMap<string, ReadonlyMap<string, number>>;

function askedReplicas(round: Round, stuck: StuckReplicas): Asked {
  const asked = new Map<string, ReadonlyMap<string, number>>();
  for (const { ref, object } of round.objects) {
    const uid = object.metadata?.uid ?? "";
    const spread = spreadOf(object);
    if (spread === "divided") asked.set(uid, pacedReplicas(round, ref, object, stuck));
    if (spread === "whole") asked.set(uid, wholeReplicas(round, object));
  }
  return asked;
}

function pacedReplicas(
  round: Round,
  ref: ResourceRef,
  object: AnyObject,
  stuck: StuckReplicas,
): ReadonlyMap<string, number> {
  const uid = object.metadata?.uid ?? "";
  const shares = sharesOf(round, uid);
  const { namespace = "", name = "" } = object.metadata ?? {};
  const paces = round.regions
    .filter(({ view }) => view.isReachable)
    .map(({ view, connection }) => {
      const there = connection.placed(ref).get(namespace, name);
      const isOurs = there?.metadata?.annotations?.[annotations.source] === uid;
      const asked = isOurs ? replicasOf(there) : 0;
      const ready = isOurs ? readyOf(there) : 0;
      stuck.note(view.name, uid, asked, ready);
      return { name: view.name, share: shares.get(view.name) ?? 0, asked, ready };
    });
  const total = paces.reduce((all, { share }) => all + share, 0);
  const surge = Math.max(1, Math.ceil(total * round.spec.surge));
  const next = pace(total, surge, paces);
  const kept = paces.filter(({ name: region, asked }) => {
    const view = round.regions.find((one) => one.view.name === region)?.view;
    const isChosen = view?.isChosen === true && view.standing !== "closed";
    return isChosen || (next.get(region) ?? 0) > 0 || asked > 0;
  });
  return new Map(
    kept
      .map(({ name: region }) => [region, next.get(region) ?? 0] as const)
      .filter(([region, count]) => count > 0 || isOpenIn(round, region)),
  );
}

function isOpenIn(round: Round, name: string): boolean {
  const view = round.regions.find((one) => one.view.name === name)?.view;
  return view?.isChosen === true && view.standing !== "closed";
}

function readyOf(object: AnyObject): number {
  const status = isRecord(object["status"]) ? object["status"] : {};
  const ready = status["readyReplicas"];
  return typeof ready === "number" && ready > 0 ? Math.floor(ready) : 0;
}

/** While another region may still run the workload, it is scaled to 0 there and started in no region. */
function wholeReplicas(round: Round, { kind, metadata }: AnyObject): ReadonlyMap<string, number> {
  const uid = metadata?.uid ?? "";
  const from = round.placement.status?.objects?.find((one) => one.uid === uid)?.from;
  if (from === undefined) return sharesOf(round, uid);
  // Jobs have no replicas: they are deleted, and they are gone once their pods are gone.
  return kind === "Job" || kind === "CronJob" ? new Map() : new Map([[from, 0]]);
}

export function sharesOf({ placement }: Round, uid: string): ReadonlyMap<string, number> {
  const stored = placement.status?.objects?.find((one) => one.uid === uid);
  return new Map(stored?.regions.map(({ name, replicas }) => [name, replicas]));
}

async function writeRegion(
  round: Round,
  { view, connection }: RoundRegion,
  asked: Asked,
  writer: RegionWriter,
): Promise<readonly string[]> {
  const wanted = wantedIn(round, view, asked);
  const adopts = round.spec.conflicts === "Adopt";
  const uid = round.placement.metadata?.uid ?? "";
  const { problems } = await writer.write(connection, uid, wanted, { kinds: round.kinds, adopts });
  return problems;
}

/** Lists dependencies first. An object without replicas is wanted in every chosen region that is not given up. */
function wantedIn(round: Round, view: RegionView, asked: Asked): readonly WantedObject[] {
  const isHere = view.isChosen && view.standing !== "closed";
  const first = new Map<string, WantedObject>();
  const then: WantedObject[] = [];
  for (const one of round.objects) {
    const replicas = asked.get(one.object.metadata?.uid ?? "");
    const mine = replicas?.get(view.name);
    if (replicas === undefined ? !isHere : mine === undefined) continue;
    for (const dependency of dependencyObjects(round, one.object)) {
      const made = { ref: dependency.ref, object: madeFor(round, view, dependency.object) };
      first.set(`${dependency.ref.resource}/${dependency.object.metadata?.name}`, made);
    }
    then.push({
      ref: one.ref,
      object: madeFor(round, view, one.object, replicaField(one.object, mine)),
    });
  }
  const selected = new Set(
    then.map(({ ref, object }) => `${ref.resource}/${object.metadata?.name}`),
  );
  return [...[...first].filter(([key]) => !selected.has(key)).map(([, one]) => one), ...then];
}

/** Returns undefined for Jobs and CronJobs, which have no replicas field. */
function replicaField({ kind }: AnyObject, replicas: number | undefined): number | undefined {
  return kind === "Job" || kind === "CronJob" ? undefined : replicas;
}

function dependencyObjects(round: Round, object: AnyObject): readonly WantedObject[] {
  return dependenciesOf(object, round.spec.dependencies).flatMap(({ ref, kind, name }) => {
    const found = round.find(ref, name);
    return found === undefined ? [] : [{ ref, object: { ...found, apiVersion: "v1", kind } }];
  });
}

function madeFor(round: Round, view: RegionView, object: AnyObject, replicas?: number): AnyObject {
  const budget = object.kind === "PodDisruptionBudget" ? budgetFor(round, view, object) : undefined;
  return regionObject(budget ?? object, {
    placementUid: round.placement.metadata?.uid ?? "",
    region: view,
    overrides: round.spec.overrides,
    isFenced: spreadOf(object) === "whole" && round.spec.failover.singletons === "Fenced",
    ...(replicas === undefined ? {} : { replicas }),
  });
}

/** Divides by the replicas of all objects of the placement, because the budget's selector is not resolved. */
function budgetFor(round: Round, view: RegionView, budget: AnyObject): AnyObject | undefined {
  const replicas = new Map<string, number>();
  for (const { regions } of round.placement.status?.objects ?? []) {
    for (const one of regions) replicas.set(one.name, (replicas.get(one.name) ?? 0) + one.replicas);
  }
  const reachable = new Set(
    round.regions.filter((one) => one.view.isReachable).map((one) => one.view.name),
  );
  const shares = disruptionShares(
    budget,
    [...replicas].map(([name, count]) => ({
      name,
      replicas: count,
      isReachable: reachable.has(name),
    })),
  );
  if (shares === undefined || !isRecord(budget["spec"])) return undefined;
  const { minAvailable: _, maxUnavailable: __, ...spec } = budget["spec"];
  return { ...budget, spec: { ...spec, maxUnavailable: shares.get(view.name) ?? 0 } };
}
