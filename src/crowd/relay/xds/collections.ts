/**
 * Mirrored collections as they are, for clients of type `<collection>/google.protobuf.Struct`: what an Any of
 * that type holds is a Struct, whatever stands before it.
 *
 *   v1/configmaps/google.protobuf.Struct            shop/settings
 *   example.com/v1/widgets/google.protobuf.Struct   shop/wheel
 *
 * Holds  a table is made when it is first asked for, and follows its mirror from then on. It is empty while
 *        its collection is not mirrored.
 * Bounds `collectionsMax` tables.
 */
import type { AnyObject } from "#api/object.ts";
import type { Clock } from "#platform/clock.ts";
import { contentOf, type Digest } from "#xds/resource.ts";
import { ResourceTable } from "#xds/resource-table.ts";
import { StreamEndError } from "#xds/stream-end.ts";
import { structMessage } from "#xds/struct-message.ts";
import { collectionOf } from "#xds/type-urls.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { Feed } from "./feed.ts";
import type { XdsLimits } from "./limits.ts";

interface CollectionsDeps {
  readonly clock: Clock;
  readonly digest: Digest;
  readonly mirrorOf: (kindId: string) => Mirrored | undefined;
}

interface Collection {
  readonly table: ResourceTable;
  feed: Feed | undefined;
}

export class Collections {
  readonly #deps: CollectionsDeps;
  readonly #limits: XdsLimits;
  readonly #byType = new Map<string, Collection>();

  constructor(deps: CollectionsDeps, limits: XdsLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  get tables(): readonly ResourceTable[] {
    return [...this.#byType.values()].map(({ table }) => table);
  }

  /** Returns the table of a collection. Undefined: the type is not that of a mirrored collection. Throws StreamEndError at the limit. */
  table(typeUrl: string): ResourceTable | undefined {
    const known = this.#byType.get(typeUrl);
    if (known !== undefined) return known.table;
    const mirrored = this.#deps.mirrorOf(collectionOf(typeUrl));
    if (mirrored === undefined) return undefined;
    const { collectionsMax } = this.#limits;
    if (this.#byType.size >= collectionsMax) {
      throw new StreamEndError("limit", `more than ${collectionsMax} collections are served`);
    }
    const collection = { table: new ResourceTable(typeUrl, this.#limits), feed: undefined };
    this.#byType.set(typeUrl, collection);
    // The objects are read at once: a name that is not read yet must not be reported as absent.
    mirrored.mirror.cache.state.scan("", "\xff", ({ namespace, name, object }) => {
      this.#put(collection.table, `${namespace}/${name}`, object);
      return true;
    });
    this.mirrorsTurned();
    return collection.table;
  }

  /** Adopts changed mirrors of the relay. Objects of an ended mirror are deleted, as they are for its watchers. */
  mirrorsTurned(): void {
    for (const [typeUrl, collection] of this.#byType) {
      const mirror = this.#deps.mirrorOf(collectionOf(typeUrl))?.mirror;
      const { table, feed: before } = collection;
      if (before !== undefined && before.mirror === mirror) continue;
      before?.stop();
      const known = new Set([...table.listed()].map(({ name }) => keyOf(name)));
      const put = (key: string, object: AnyObject | undefined): void =>
        this.#put(table, key, object);
      if (mirror === undefined) for (const key of known) put(key, undefined);
      const { clock } = this.#deps;
      collection.feed = mirror && new Feed({ clock, mirror, put, settle: () => undefined, known });
    }
  }

  stop(): void {
    for (const { feed } of this.#byType.values()) feed?.stop();
  }

  #put(table: ResourceTable, key: string, object: AnyObject | undefined): void {
    const name = nameOf(key);
    const bytes = object === undefined ? undefined : structMessage(withoutManagers(object));
    if (bytes === undefined) return table.delete(name);
    const content = contentOf(this.#deps.digest, name, table.typeUrl, bytes);
    table.set({ name, scope: scopeOfName(name), isListed: true, content });
  }
}

/** Returns the namespace of an object's name; "": the object is cluster-scoped. */
export function scopeOfName(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? "" : name.slice(0, slash);
}

/** The key of a cluster-scoped object begins with a slash; its name does not. */
function nameOf(key: string): string {
  return key.startsWith("/") ? key.slice(1) : key;
}

function keyOf(name: string): string {
  return name.includes("/") ? name : `/${name}`;
}

/** Removes managedFields: they are often the larger part of an object, and of no use to readers. */
function withoutManagers(object: AnyObject): object {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}
