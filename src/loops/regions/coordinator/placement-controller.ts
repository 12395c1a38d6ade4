/**
 * A Placement made true: decide, store the decision, bring regions to it, add up what they say.
 *
 * Order  the decision is stored before any region is asked by it, guarded by the version it was made from; so a copy of the
 *        cache that lags, a second coordinator, or an end in between cannot make two decisions of one state.
 * Holds  level-triggered: keys come from placements, their objects, regions' states and the objects placed there; a second
 *        run writes nothing.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import { formatTime } from "#api/values/time.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { isRecord } from "#base/is-record.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { withCondition } from "#client/conditions.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "#client/finalizers.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource, type Source } from "#client/sources.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { chooseRegions } from "../choose.ts";
import { hasQuorum, standingOf } from "../failure/region-health.ts";
import type { MoveBudget } from "../failure/move-budget.ts";
import { annotations, isReservedNamespace, labels, placedFinalizer, refs } from "../names.ts";
import {
  placementSpec,
  spreadOf,
  type PlacedObject,
  type Placement,
  type PlacementSpec,
  type PlacementStatus,
} from "../placement.ts";
import { costOf, decideDivided, decideWhole, type RegionView } from "../plan/decide.ts";
import { freePods } from "../summary/free-pods.ts";
import { templateOf } from "../plan/dependencies.ts";
import { carryOut, type Round } from "./carry-out.ts";
import { globalStatus } from "./global-status.ts";
import type { RegionConnection } from "./region-connection.ts";
import type { RegionSet } from "./region-set.ts";
import type { RegionWriter } from "./region-writer.ts";
import type { StuckReplicas } from "./stuck-replicas.ts";

interface PlacementDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly informers: InformerSet;
  readonly regions: RegionSet;
  readonly budget: MoveBudget;
  readonly stuck: StuckReplicas;
  readonly writer: RegionWriter;
}

const objectsMax = 500;

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const reserved: Refusal = {
  reason: "ReservedNamespace",
  message: "objects of a region's own namespaces (kube-*, pilothouse-regions) are not placed",
};

/** Delay before the next reconcile while a required informer has not received its first list. */
const unsyncedMs = 500;

export class PlacementController implements ControllerOptions<Placement> {
  readonly name = "placement";
  readonly workers = 8;
  readonly ref = refs.placements;
  readonly sources: readonly Source[];
  readonly #deps: PlacementDeps;
  readonly #placements: Informer<Placement>;
  readonly #namespaces: Informer<KubeObject>;
  readonly #woken = new KeySource();
  readonly #watched = new Map<string, Informer<AnyObject>>();

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
    this.#placements = deps.informers.informer<Placement>(refs.placements);
    this.#placements.addIndex("uid", ({ metadata }) => [metadata?.uid ?? ""]);
    this.#namespaces = deps.informers.informer(refs.namespaces);
    this.sources = [this.#woken];
  }

  /** Wakes all placements after a region joined, left, started to answer or stopped to answer. */
  regionChanged(): void {
    for (const placement of this.#placements.values()) this.#woken.add(keyOf(placement));
  }

  /** Wakes the placement of an object that has changed in a region. */
  objectChanged({ metadata }: KubeObject): void {
    const uid = metadata?.labels?.[labels.placement] ?? "";
    for (const placement of this.#placements.byIndex("uid", uid)) this.#woken.add(keyOf(placement));
  }

  async reconcile({ object }: ReconcileRequest<Placement>): Promise<ReconcileResult> {
    if (object === undefined) return undefined;
    if (object.metadata?.deletionTimestamp !== undefined) return this.#remove(object);
    const spec = placementSpec(object);
    if (!this.#isReady(spec)) return { requeueAfterMs: unsyncedMs };
    const placement = await addFinalizer(this.#deps.client, this.ref, object, placedFinalizer);
    if (isReservedNamespace(placement.metadata?.namespace ?? ""))
      return this.#refuse(placement, reserved);
    const objects = this.#select(placement, spec);
    if (objects.length > objectsMax) {
      const message = `${objects.length} objects are selected; a placement takes ${objectsMax}: divide it by labels`;
      return this.#refuse(placement, { reason: "TooManyObjects", message });
    }
    const views = this.#views(placement, spec);
    if (this.#isTooEarly(placement, views)) return { requeueAfterMs: unsyncedMs };
    const decided = this.#decide(placement, spec, objects, views);
    const stored = await this.#store(placement, decided.status);
    const round = this.#round(stored, spec, objects, views);
    const problems = await carryOut(round, this.#deps);
    await this.#store(stored, withPlaced(stored, decided.status, problems, this.#nowText()));
    await this.#writeStatuses(round);
    return this.#next(spec, objects, views, decided.isHeldBack);
  }

  #nowText(): string {
    return formatTime(this.#deps.clock.nowMs());
  }

  /**
   * Whether the informers of home have synced for every kind of the placement. The call starts those informers; a
   * change that they report wakes the placements of its namespace.
   */
  #isReady(spec: PlacementSpec): boolean {
    const kinds = [...spec.resources.map(({ ref }) => ref), ...dependencyRefs(spec)];
    return kinds.map((ref) => this.#home(ref)).every(({ hasSynced }) => hasSynced);
  }

  /** Whether a new placement must wait for regions that are still joining. Otherwise the first region to answer would get all replicas. */
  #isTooEarly({ status }: Placement, views: readonly RegionView[]): boolean {
    if (status?.objects !== undefined) return false;
    const { regions } = this.#deps;
    return views.some(
      ({ name, isChosen }) => isChosen && regions.connectionOf(name)?.health.state === "Joining",
    );
  }

  #connections(): readonly RegionConnection[] {
    const { regions } = this.#deps;
    return regions.names().flatMap((name) => regions.connectionOf(name) ?? []);
  }

  #home(ref: ResourceRef): Informer<AnyObject> {
    const key = refText(ref);
    const known = this.#watched.get(key);
    if (known !== undefined) return known;
    const informer = this.#deps.informers.informer<AnyObject>(ref);
    const wake = ({ metadata }: AnyObject): void => {
      for (const each of this.#placements.list(metadata?.namespace)) this.#woken.add(keyOf(each));
    };
    informer.addHandler({ add: wake, update: (_, object) => wake(object), delete: wake });
    this.#watched.set(key, informer);
    return informer;
  }

  #select(placement: Placement, spec: PlacementSpec): Round["objects"] {
    const namespace = placement.metadata?.namespace ?? "";
    const found = new Map<string, Round["objects"][number]>();
    for (const { ref, name, labels: wanted, apiVersion, kind } of spec.resources) {
      const selector = selectorFromLabelSelector(wanted);
      for (const object of this.#home(ref).list(namespace)) {
        const { metadata } = object;
        const isNamed =
          name === undefined ? labelsMatch(selector, metadata?.labels) : metadata?.name === name;
        if (!isNamed || metadata?.deletionTimestamp !== undefined) continue;
        // Items of a list may lack `apiVersion` and `kind`.
        found.set(`${refText(ref)} ${metadata?.name}`, {
          ref,
          object: { ...object, apiVersion, kind },
        });
      }
    }
    return [...found.values()];
  }

  #views(placement: Placement, spec: PlacementSpec): readonly RegionView[] {
    const { regions, stuck } = this.#deps;
    const all = regions.names().map((name) => {
      const profile = regions.profileOf(name);
      return {
        name,
        labels: profile?.metadata?.labels ?? {},
        notes: profile?.metadata?.annotations,
      };
    });
    const namespace = placement.metadata?.namespace ?? "";
    const chosen = chooseRegions(spec, all, {
      namespaceLabels: this.#namespaces.get("", namespace)?.metadata?.labels ?? {},
      regionsOf: (other) => regionsOf(this.#placements.get(namespace, other)),
    });
    const names = new Set(chosen.map(({ name }) => name));
    const standings = all.map(({ name }) => regions.standing(name));
    const kinds = this.#kinds(placement, spec);
    const isQuorum = hasQuorum(standings.map(({ state }) => state));
    return all.map(({ name, labels: own, notes }): RegionView => {
      const connection = regions.connectionOf(name);
      const known = regions.standing(name);
      const { afterMs } = spec.failover;
      return {
        name,
        labels: own,
        isChosen: names.has(name),
        isReachable: connection !== undefined && canRead(connection, kinds),
        isLost: known.order === "lost",
        standing: standingOf(known, { afterMs, isQuorum }),
        cost: costOf(notes),
        isFenceOver: connection?.isFenceOver === true,
        free: (object) => freeIn(connection, object),
        roomFor: (uid) => stuck.roomFor(name, uid),
        isEmptyOf: (uid) => isEmptyOf(connection, kinds, uid),
      };
    });
  }

  #decide(
    placement: Placement,
    spec: PlacementSpec,
    objects: Round["objects"],
    views: readonly RegionView[],
  ): { readonly status: PlacementStatus; readonly isHeldBack: boolean } {
    const old = new Map((placement.status?.objects ?? []).map((one) => [one.uid, one]));
    const decisions = objects.flatMap(({ object }) => {
      const stored = old.get(object.metadata?.uid ?? "");
      const spread = spreadOf(object);
      if (spread === "divided")
        return decideDivided(object, spec, views, stored, this.#deps.budget);
      return spread === "whole" ? decideWhole(object, spec, views, stored) : [];
    });
    const status = {
      ...placement.status,
      kinds: this.#kinds(placement, spec).map(refText),
      regions: views
        .filter(({ isChosen, standing }) => isChosen && standing !== "closed")
        .map(({ name }) => name),
      objects: decisions.map(({ object }) => object),
    };
    return { status, isHeldBack: decisions.some(({ isHeldBack }) => isHeldBack) };
  }

  #kinds(placement: Placement, spec: PlacementSpec): readonly ResourceRef[] {
    const now = [...spec.resources.map(({ ref }) => ref), ...dependencyRefs(spec)];
    const before = (placement.status?.kinds ?? []).flatMap(refOfText);
    return [...new Map([...before, ...now].map((ref) => [refText(ref), ref])).values()].slice(
      0,
      64,
    );
  }

  #round(
    placement: Placement,
    spec: PlacementSpec,
    objects: Round["objects"],
    views: readonly RegionView[],
  ): Round {
    const { regions } = this.#deps;
    return {
      placement,
      spec,
      objects,
      kinds: this.#kinds(placement, spec),
      find: (ref, name) => this.#home(ref).get(placement.metadata?.namespace ?? "", name),
      regions: views.flatMap((view) => {
        const connection = regions.connectionOf(view.name);
        return connection === undefined ? [] : [{ view, connection }];
      }),
    };
  }

  /** @returns the placement with the new status, as stored. */
  async #store(placement: Placement, status: PlacementStatus): Promise<Placement> {
    if (jsonEqual(placement.status ?? {}, status)) return placement;
    const namespace = placement.metadata?.namespace ?? "";
    const call = { subresource: "status" };
    return this.#deps.client.update<Placement>(this.ref, namespace, { ...placement, status }, call);
  }

  /** Writes the reason into the status only; placed objects stay as they are. */
  async #refuse(placement: Placement, why: Refusal): Promise<void> {
    const condition = placed("False", why.reason, why.message, placement, this.#nowText());
    const conditions = withCondition(placement.status?.conditions, condition);
    await this.#store(placement, { ...placement.status, conditions });
  }

  async #writeStatuses(round: Round): Promise<void> {
    for (const { ref, object } of round.objects) {
      const status = globalStatus(object, round, this.#nowText());
      if (status === undefined || jsonEqual(object["status"] ?? {}, status)) continue;
      const namespace = object.metadata?.namespace ?? "";
      await this.#deps.client.update(
        ref,
        namespace,
        { ...object, status },
        { subresource: "status" },
      );
    }
  }

  #next(
    spec: PlacementSpec,
    objects: Round["objects"],
    views: readonly RegionView[],
    isHeldBack: boolean,
  ): ReconcileResult {
    const { budget, regions, stuck } = this.#deps;
    const { afterMs } = spec.failover;
    const waits = views
      .filter(({ isReachable, standing }) => !isReachable && standing === "silent")
      .flatMap(({ name }) =>
        afterMs === undefined ? [] : [afterMs - regions.standing(name).silentMs],
      )
      .map((wait) => Math.max(wait, 1_000));
    // The end of a fence triggers no event, so the controller has to check again by time.
    const isFenced = spec.failover.singletons === "Fenced";
    if (isFenced && views.some((view) => !view.isReachable && !view.isFenceOver))
      waits.push(10_000);
    const isWaiting = views.some((view) => !view.isReachable && view.standing === "open");
    if (isWaiting) waits.push(unsyncedMs);
    if (isHeldBack) waits.push(Math.max(1_000, budget.waitMs()));
    for (const { object } of objects) {
      const wait = stuck.nextMs(object.metadata?.uid ?? "");
      if (wait !== undefined) waits.push(wait);
    }
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  }

  /** Regions that do not answer keep the placement until they answer, or until their profile is removed. */
  async #remove(placement: Placement): Promise<ReconcileResult> {
    if (!hasFinalizer(placement, placedFinalizer)) return undefined;
    const spec = placementSpec(placement);
    const kinds = this.#kinds(placement, spec);
    const uid = placement.metadata?.uid ?? "";
    if (spec.deletion === "Delete") {
      const connections = this.#connections();
      const pending = connections.filter(({ isReady }) => !isReady);
      for (const region of connections.filter(({ isReady }) => isReady)) {
        if (kinds.some((ref) => !region.placed(ref).hasSynced))
          return { requeueAfterMs: unsyncedMs };
        await this.#deps.writer.write(region, uid, [], { kinds, adopts: false });
      }
      const holders = new Set(
        (placement.status?.objects ?? []).flatMap((one) => one.regions.map(({ name }) => name)),
      );
      for (const name of placement.status?.regions ?? []) holders.add(name);
      if (pending.some(({ name }) => holders.has(name))) return { requeueAfterMs: 10_000 };
    }
    await removeFinalizer(this.#deps.client, this.ref, placement, placedFinalizer);
    return undefined;
  }
}

function regionsOf(placement: Placement | undefined): readonly string[] {
  const held = (placement?.status?.objects ?? []).flatMap(({ regions }) =>
    regions.map(({ name }) => name),
  );
  return [...new Set([...held, ...(placement?.status?.regions ?? [])])];
}

function freeIn(connection: RegionConnection | undefined, object: AnyObject): number | undefined {
  const summary = connection?.summary;
  const template = templateOf(object);
  return summary === undefined || template === undefined ? undefined : freePods(summary, template);
}

/** Whether the region answers and the objects placed there earlier are known. */
function canRead(connection: RegionConnection, kinds: readonly ResourceRef[]): boolean {
  // Request every informer before the check, so that all of them start together.
  const informers = kinds.map((ref) => connection.placed(ref));
  return connection.isReady && informers.every(({ hasSynced }) => hasSynced);
}

/** Whether the region answers now, and the object is absent there or has no pod. */
function isEmptyOf(
  connection: RegionConnection | undefined,
  kinds: readonly ResourceRef[],
  uid: string,
): boolean {
  if (connection === undefined || !canRead(connection, kinds)) return false;
  const objects = kinds.flatMap((ref) => [...connection.placed(ref).values()]);
  return objects.every(
    (object) => object.metadata?.annotations?.[annotations.source] !== uid || isStopped(object),
  );
}

/** Whether the object is scaled to 0, its controller has observed that, and no pod is left, not even a terminating one. */
function isStopped(object: AnyObject): boolean {
  const spec = isRecord(object["spec"]) ? object["spec"] : {};
  const status = isRecord(object["status"]) ? object["status"] : {};
  const hasSeen =
    Number(status["observedGeneration"] ?? 0) >= Number(object.metadata?.generation ?? 0);
  const left = Number(status["replicas"] ?? 0) + Number(status["terminatingReplicas"] ?? 0);
  return spec["replicas"] === 0 && hasSeen && left === 0;
}

function dependencyRefs({ dependencies }: PlacementSpec): readonly ResourceRef[] {
  const byKind = {
    ConfigMap: refs.configMaps,
    Secret: refs.secrets,
    ServiceAccount: refs.serviceAccounts,
  };
  return dependencies.map((kind) => byKind[kind]);
}

function refText({ group, version, resource }: ResourceRef): string {
  return `${group}/${version}/${resource}`;
}

function refOfText(text: string): readonly ResourceRef[] {
  const [group = "", version = "", resource = ""] = text.split("/");
  return resource === "" ? [] : [{ group, version, resource }];
}

function placed(
  status: string,
  reason: string,
  message: string,
  { metadata }: Placement,
  nowText: string,
) {
  const observedGeneration = Number(metadata?.generation ?? 0);
  return {
    type: "Placed",
    status,
    reason,
    message,
    observedGeneration,
    lastTransitionTime: nowText,
  };
}

function withPlaced(
  placement: Placement,
  status: PlacementStatus,
  problems: readonly string[],
  nowText: string,
): PlacementStatus {
  const unplaced = (status.objects ?? []).filter(isUnplaced).map(({ object }) => object);
  const shown = problems.slice(0, 5).join("; ").slice(0, 1_000);
  const condition =
    problems.length > 0
      ? placed("False", "NotApplied", shown, placement, nowText)
      : unplaced.length > 0
        ? placed(
            "False",
            "Unplaced",
            `no region takes all of ${unplaced.slice(0, 5).join(", ")}`,
            placement,
            nowText,
          )
        : placed("True", "Placed", "", placement, nowText);
  const conditions = withCondition(placement.status?.conditions, condition);
  return { ...status, conditions, observedGeneration: condition.observedGeneration };
}

function isUnplaced({ unplaced = 0 }: PlacedObject): boolean {
  return unplaced > 0;
}
