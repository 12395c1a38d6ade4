/**
 * Brings a region to what it should have of one placement: applies, deletes what is left over, nothing that is not ours.
 *
 * Holds  an object that is there without the placement's uid and its source's is a conflict, unless the policy adopts; deletes
 *        name the uid that was seen. What was applied and did not change since is not written again.
 * Order  as given: a Namespace, then what templates name, then the rest. Deletes come last.
 */
import type { AnyObject } from "#api/object.ts";
import { given } from "#base/given.ts";
import type { ResourceRef } from "#client/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#client/api-errors.ts";
import { annotations, labels, managerName, refs } from "../names.ts";
import type { RegionConnection } from "./region-connection.ts";

export interface WantedObject {
  readonly ref: ResourceRef;
  readonly object: AnyObject;
}

interface WriteOptions {
  /** Kinds that are searched for leftovers. */
  readonly kinds: readonly ResourceRef[];
  readonly adopts: boolean;
  /** Whether a leftover object stays. Absent: all leftovers are deleted. */
  readonly keeps?: (object: AnyObject) => boolean;
}

interface Findings {
  /** Texts for the operator, for example `Deployment/web in eu is not ours`. */
  readonly problems: readonly string[];
}

export class RegionWriter {
  /**
   * By region and uid (uids are unique per region only): stamp of the object when it last was as wanted. Bounds: one
   * entry per placed object.
   */
  readonly #settled = new Map<string, string>();
  /**
   * By region and uid: what was sent, and the stamp in the cache at that time. While the cache shows that stamp, the
   * same object is not sent again.
   */
  readonly #sent = new Map<string, { readonly applied: string; readonly before: string }>();

  async write(
    region: RegionConnection,
    placementUid: string,
    wanted: readonly WantedObject[],
    options: WriteOptions,
  ): Promise<Findings> {
    const problems: string[] = [];
    for (const one of wanted) {
      const problem = await this.#apply(region, placementUid, one, options.adopts);
      if (problem !== undefined) problems.push(problem);
    }
    const isKept = options.keeps ?? (() => false);
    for (const ref of options.kinds) {
      const others = placedBy(region, ref, placementUid).filter((one) => !isKept(one));
      await this.#deleteOthers(region, ref, others, wanted);
    }
    return { problems };
  }

  async #apply(
    region: RegionConnection,
    placementUid: string,
    { ref, object }: WantedObject,
    adopts: boolean,
  ): Promise<string | undefined> {
    const { namespace = "", name = "" } = object.metadata ?? {};
    const cached = region.placed(ref).get(namespace, name);
    if (cached !== undefined && this.#isSettled(region, cached, object)) return undefined;
    const there = cached ?? (await this.#live(region, ref, namespace, name));
    if (there !== undefined && !adopts && !isOurs(there, placementUid, object)) {
      return `${object.kind}/${name} in ${region.name} is not of this placement`;
    }
    if (there === undefined) await ensureNamespace(region, namespace);
    const applied = await this.#send(region, { ref, object }, there, adopts);
    if (applied === undefined) {
      return `${object.kind}/${name} in ${region.name} was made by others just now`;
    }
    this.#settled.set(keyIn(region, applied), stampOf(applied));
    if (cached !== undefined) {
      this.#sent.set(keyIn(region, cached), { applied: hashOf(object), before: stampOf(cached) });
    }
    return undefined;
  }

  /**
   * An object that is there is named by its uid. An object that others make after the look is not taken over: a field of theirs
   * that differs refuses the whole write.
   * @returns undefined: it was refused for that reason.
   */
  async #send(
    { client }: RegionConnection,
    { ref, object }: WantedObject,
    there: AnyObject | undefined,
    adopts: boolean,
  ): Promise<AnyObject | undefined> {
    const { namespace = "", name = "" } = object.metadata ?? {};
    const uid = there?.metadata?.uid;
    const sent = { ...object, metadata: { ...object.metadata, ...given({ uid }) } };
    const options = { fieldManager: managerName, force: adopts || uid !== undefined };
    try {
      return await client.patch<AnyObject>(ref, namespace, name, "apply", sent, options);
    } catch (error) {
      if (options.force || !isConflict(error)) throw error;
      return undefined;
    }
  }

  /** Whether the object is as wanted and no other client has changed it since, or the last write has not reached the cache yet. */
  #isSettled(region: RegionConnection, there: AnyObject, wanted: AnyObject): boolean {
    const key = keyIn(region, there);
    const sent = this.#sent.get(key);
    if (sent?.before === stampOf(there) && sent.applied === hashOf(wanted)) return true;
    this.#sent.delete(key);
    return hashOf(there) === hashOf(wanted) && this.#settled.get(key) === stampOf(there);
  }

  async #live(
    region: RegionConnection,
    ref: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<AnyObject | undefined> {
    try {
      return await region.client.get<AnyObject>(ref, namespace, name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #deleteOthers(
    region: RegionConnection,
    ref: ResourceRef,
    placed: readonly AnyObject[],
    wanted: readonly WantedObject[],
  ): Promise<void> {
    const kept = new Set(
      wanted.filter((one) => isSameRef(one.ref, ref)).map(({ object }) => placeOf(object)),
    );
    for (const object of placed) {
      if (kept.has(placeOf(object)) || object.metadata?.deletionTimestamp !== undefined) continue;
      await this.#delete(region, ref, object);
    }
  }

  async #delete(region: RegionConnection, ref: ResourceRef, object: AnyObject): Promise<void> {
    const { namespace = "", name = "", uid = "" } = object.metadata ?? {};
    this.#settled.delete(keyIn(region, object));
    this.#sent.delete(keyIn(region, object));
    try {
      const preconditions = { uid };
      await region.client.delete(ref, namespace, name, {
        preconditions,
        // A moved Job must exist until its pods are gone; a workload with replicas was scaled to 0 before.
        propagationPolicy: ref.group === "batch" ? "Foreground" : "Background",
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Returns the cached objects of a kind that the placement put into the region. */
function placedBy(
  region: RegionConnection,
  ref: ResourceRef,
  placementUid: string,
): readonly AnyObject[] {
  return [...region.placed(ref).values()].filter(
    ({ metadata }) =>
      metadata?.labels?.[labels.placement] === placementUid &&
      metadata.annotations?.[annotations.source] !== undefined,
  );
}

function isOurs(there: AnyObject, placementUid: string, wanted: AnyObject): boolean {
  const { source } = annotations;
  return (
    there.metadata?.labels?.[labels.placement] === placementUid &&
    there.metadata.annotations?.[source] === wanted.metadata?.annotations?.[source]
  );
}

function keyIn({ name }: RegionConnection, { metadata }: AnyObject): string {
  return `${name} ${metadata?.uid ?? ""}`;
}

/** Returns the hash of the applied object; "" if no hash is recorded. */
function hashOf({ metadata }: AnyObject): string {
  return metadata?.annotations?.[annotations.applied] ?? "";
}

/** Changes when another client writes the object. For kinds without a generation it changes with every update. */
function stampOf({ metadata }: AnyObject): string {
  const { generation, resourceVersion = "" } = metadata ?? {};
  return `${generation ?? resourceVersion} ${hashOf({ metadata: metadata ?? {} })}`;
}

function placeOf({ metadata }: AnyObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

function isSameRef(a: ResourceRef, b: ResourceRef): boolean {
  return a.group === b.group && a.version === b.version && a.resource === b.resource;
}

async function ensureNamespace(region: RegionConnection, name: string): Promise<void> {
  if (name === "") return;
  try {
    await region.client.get(refs.namespaces, "", name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await createNamespace(region, name);
  }
}

async function createNamespace({ client }: RegionConnection, name: string): Promise<void> {
  try {
    await client.create(refs.namespaces, "", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
