/**
 * Global services: what regions export by ServiceExport is imported into every region that has the namespace.
 *
 *   exports of all regions ──merge──► ServiceImport, derived Service, EndpointSlices in each region ──► conditions of the exports
 *
 * Holds  level-triggered by `namespace/name`; a second run writes nothing. What is imported is named by a mark, and nothing else
 *        is changed or deleted. A region that was never seen by this process is not known to export nothing: what is
 *        imported from it stays.
 * Silent a region that does not answer keeps its exports; its endpoints are left out elsewhere while others have ready ones, and
 *        while at least half of the regions answer. Its own imports stay as they are.
 */
import type { Service } from "#api/gen/types.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { isRecord } from "#base/is-record.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import { findCondition, type Condition } from "#client/conditions.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource, type Source } from "#client/sources.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { RegionConnection } from "../coordinator/region-connection.ts";
import type { RegionSet } from "../coordinator/region-set.ts";
import type { RegionWriter } from "../coordinator/region-writer.ts";
import { annotations, labels, mcsLabels, mcsRefs, refs } from "../names.ts";
import { exportConditions, importConditions } from "./export-status.ts";
import { byAge, verdictOf, type ExportedService } from "./exported-service.ts";
import { derivedName, importedObjects, importUid } from "./imported-objects.ts";
import { mergeExports, type MergedService } from "./merge-exports.ts";
import type { RegionExports } from "./region-exports.ts";

interface ServiceDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly informers: InformerSet;
  readonly regions: RegionSet;
  readonly writer: RegionWriter;
}

/** A region that takes part in global services. */
interface Member {
  readonly connection: RegionConnection;
  readonly exports: RegionExports;
}

/** Inputs of one reconcile. */
interface Round {
  readonly namespace: string;
  readonly name: string;
  readonly members: readonly Member[];
  readonly merged: MergedService | undefined;
  /** Exports whose endpoints are imported. */
  readonly sources: readonly ExportedService[];
  /** Regions for which it is not known yet whether they export the service. */
  readonly unknown: ReadonlySet<string>;
}

const kinds = [refs.services, mcsRefs.imports, refs.endpointSlices];
/** Time for which changes of one service are collected before they are written together. */
const gatherMs = 200;
const unsyncedMs = 500;
/** Delay before the next check for the namespace of a service in a region that lacks the namespace. */
const namespaceMs = 60_000;

export class ServiceController implements KeyOptions {
  readonly name = "global-services";
  readonly workers = 4;
  readonly sources: readonly Source[];
  readonly #deps: ServiceDeps;
  readonly #namespaces: Informer<KubeObject>;
  readonly #woken = new KeySource();

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
    this.#namespaces = deps.informers.informer(refs.namespaces);
    this.sources = [this.#woken];
  }

  /** Queues a service after a change in a region that exports it. */
  changed(key: string): void {
    this.#woken.addAfter(key, gatherMs);
  }

  /** Queues all services after a region joined, left, started to answer or stopped to answer. */
  regionChanged(): void {
    for (const { connection, exports } of this.#members()) {
      for (const key of exports.keys()) this.changed(key);
      for (const object of connection.placed(mcsRefs.imports).values()) this.objectChanged(object);
    }
  }

  /** Queues the service of a changed object, if the object belongs to an import. */
  objectChanged({ metadata }: KubeObject): void {
    const isImport = metadata?.labels?.[labels.placement]?.startsWith("import.") === true;
    const key = metadata?.annotations?.[annotations.source];
    if (isImport && key !== undefined) this.changed(key);
  }

  async reconcile({ key }: KeyRequest): Promise<ReconcileResult> {
    const [namespace = "", name = ""] = key.split("/");
    const members = this.#members(namespace);
    if (members.some(({ connection }) => connection.health.state === "Joining")) {
      return { requeueAfterMs: unsyncedMs };
    }
    const exported = members.flatMap(({ exports }) => exports.get(key) ?? []).toSorted(byAge);
    const round = this.#round({ namespace, name }, members, exported);
    const ready = members.filter(({ connection }) => connection.isReady);
    const waits = await settledAll(ready.map((member) => this.#import(member, round)));
    await settledAll(exported.map((one) => this.#tell(one, round.merged)));
    const wait = Math.min(...waits.filter((one) => one !== undefined));
    return wait === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMs: wait };
  }

  /** Returns the participating regions; for a namespace with a residency, only regions with the same residency. */
  #members(namespace?: string): readonly Member[] {
    const { regions } = this.#deps;
    const residency =
      namespace === undefined
        ? undefined
        : this.#namespaces.get("", namespace)?.metadata?.labels?.[labels.residency];
    return regions.names().flatMap((name) => {
      const connection = regions.connectionOf(name);
      const exports = connection?.exports;
      const own = regions.profileOf(name)?.metadata?.labels?.[labels.residency];
      const isAllowed = residency === undefined || residency === own;
      return connection === undefined || exports === undefined || !isAllowed
        ? []
        : [{ connection, exports }];
    });
  }

  #round(
    named: { readonly namespace: string; readonly name: string },
    members: readonly Member[],
    exported: readonly ExportedService[],
  ): Round {
    const { regions } = this.#deps;
    const valid = exported.filter(({ service }) => verdictOf(service).isValid);
    const isQuorum = regions.hasQuorum();
    const answers = ({ region }: ExportedService): boolean => {
      const { state, order } = regions.standing(region);
      return order !== "lost" && (state === "Ready" || !isQuorum);
    };
    const answering = valid.filter(answers);
    const key = `${named.namespace}/${named.name}`;
    const unknown = members.filter(({ exports }) => !exports.isKnown(key));
    return {
      ...named,
      members,
      merged: mergeExports(valid),
      sources: answering.some(hasReadyEndpoint) ? answering : valid,
      unknown: new Set(unknown.map(({ connection }) => connection.name)),
    };
  }

  /** @returns the delay in milliseconds until the next reconcile, if one is needed. */
  async #import({ connection }: Member, round: Round): Promise<number | undefined> {
    if (!kinds.map((ref) => connection.placed(ref)).every(({ hasSynced }) => hasSynced)) {
      return unsyncedMs;
    }
    const { namespace, name, merged } = round;
    const known = connection.placed(mcsRefs.imports).get(namespace, name);
    if (merged !== undefined && known === undefined) {
      if (!(await hasNamespace(connection, namespace))) return namespaceMs;
    }
    const held = clustersOf(known).filter((one) => round.unknown.has(one));
    if (merged === undefined && held.length > 0) return undefined;
    const derived = connection.placed(refs.services).get(namespace, derivedName(round));
    const options = { namespace, name, region: connection.name, sources: round.sources };
    const wanted =
      merged === undefined
        ? []
        : importedObjects(merged, { ...options, derived: derived as Service | undefined });
    const { problems } = await this.#deps.writer.write(connection, importUid(round), wanted, {
      kinds,
      adopts: false,
      keeps: ({ metadata }) => round.unknown.has(metadata?.labels?.[mcsLabels.cluster] ?? ""),
    });
    for (const problem of problems) this.#deps.log.warn("not imported", { problem });
    if (merged !== undefined) await this.#tellImport(connection, round, merged, held);
    return undefined;
  }

  async #tellImport(
    connection: RegionConnection,
    { namespace, name }: Round,
    merged: MergedService,
    held: readonly string[],
  ): Promise<void> {
    const object = connection.placed(mcsRefs.imports).get(namespace, name);
    if (object === undefined) return;
    const clusters = [...new Set([...merged.clusters, ...held])].toSorted();
    const spec = isRecord(object["spec"]) ? object["spec"] : {};
    const isReady = merged.type === "Headless" || Array.isArray(spec["ips"]);
    const old = isRecord(object["status"]) ? object["status"] : {};
    // The controller wrote this status itself.
    const conditions = old["conditions"] as readonly Condition[] | undefined;
    const status = {
      clusters: clusters.map((cluster) => ({ cluster })),
      conditions: importConditions(conditions, isReady, this.#nowText()),
    };
    if (jsonEqual(old, status)) return;
    const call = { subresource: "status" };
    await connection.client.update(mcsRefs.imports, namespace, { ...object, status }, call);
  }

  /** Writes the conditions of an export, if its region answers. */
  async #tell(exported: ExportedService, merged: MergedService | undefined): Promise<undefined> {
    const connection = this.#deps.regions.connectionOf(exported.region);
    if (connection?.isReady !== true) return;
    const { object } = exported;
    const conditions = exportConditions(exported, merged, this.#nowText());
    const old = object.status?.conditions ?? [];
    const isSame = conditions.length === old.length && conditions.every((one) => isIn(one, old));
    if (isSame) return;
    const status = { ...object.status, conditions };
    const call = { subresource: "status" };
    const namespace = object.metadata?.namespace ?? "";
    await connection.client.update<AnyObject>(
      mcsRefs.exports,
      namespace,
      { ...(object as AnyObject), status },
      call,
    );
  }

  #nowText(): string {
    return formatTime(this.#deps.clock.nowMs());
  }
}

function isIn(condition: Condition, all: readonly Condition[]): boolean {
  return findCondition(all, condition.type) === condition;
}

function hasReadyEndpoint({ slices }: ExportedService): boolean {
  return slices.some(({ endpoints }) =>
    (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false),
  );
}

function clustersOf(object: AnyObject | undefined): readonly string[] {
  const status = isRecord(object?.["status"]) ? object["status"] : {};
  const clusters = Array.isArray(status["clusters"]) ? status["clusters"] : [];
  return clusters.flatMap((one) =>
    isRecord(one) && typeof one["cluster"] === "string" ? [one["cluster"]] : [],
  );
}

async function hasNamespace({ client }: RegionConnection, name: string): Promise<boolean> {
  try {
    const found = await client.get(refs.namespaces, "", name);
    return found.metadata?.deletionTimestamp === undefined;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** A failure does not cancel the other work; the first failure is thrown when all of it has ended. */
async function settledAll<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}
