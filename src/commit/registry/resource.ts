/** ResourceStore of one served resource: the verbs over one core, in one version. */
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { badRequest, invalid, notFound } from "#api/status.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Cursor } from "#watch/cursor.ts";
import { compilePredicate, namespaceRange } from "#watch/predicate.ts";
import { keyOfText } from "#forms/shared-object.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import { groupResource } from "./resource-storage.ts";
import { storeCreate } from "./create.ts";
import { storeDelete } from "./delete.ts";
import { storageKey } from "./keys.ts";
import { storeList } from "./list.ts";
import type { AskedVersion } from "./resource-version.ts";
import { isVersionError, parseVersion } from "./resource-version.ts";
import type {
  DeleteOptions,
  DeleteResult,
  ListOptions,
  ListPage,
  ReadOptions,
  ResourceStore,
  ResourceWatch,
  Transform,
  UpdateOptions,
  UpdateResult,
  WatchOptions,
  WatchSink,
  WriteOptions,
} from "./resource-store.ts";
import { storeUpdate } from "./update.ts";

export class Resource implements ResourceStore {
  readonly info: ResourceInfo;
  readonly #context: ResourceStorage;

  constructor(context: ResourceStorage) {
    this.info = context.info;
    this.#context = context;
  }

  async get(namespace: string, name: string, options: ReadOptions): Promise<CachedObject> {
    const asked = parseVersion(options.resourceVersion);
    if (isVersionError(asked)) {
      throw badRequest(`invalid resource version: ${asked.field}: ${asked.message}`);
    }
    await this.#reached(asked);
    const object = this.peek(namespace, name);
    if (object === undefined) throw notFound(groupResource(this.#context), name);
    return object;
  }

  create(namespace: string, object: AnyObject, options: WriteOptions): Promise<CachedObject> {
    return storeCreate(this.#context, this.#scope(namespace), object, options);
  }

  async update(
    namespace: string,
    name: string,
    transform: Transform,
    options: UpdateOptions,
  ): Promise<UpdateResult> {
    const at = { namespace: this.#scope(namespace), name };
    const released = this.#context.released();
    if (released === undefined || options.dryRun) {
      return storeUpdate(this.#context, at, transform, options);
    }
    let old: AnyObject | undefined;
    const noted: Transform = (current) => {
      old = current;
      return transform(current);
    };
    const result = await storeUpdate(this.#context, at, noted, options);
    if (old !== undefined) {
      await released(old, result.isDeleted ? undefined : result.object.object);
    }
    return result;
  }

  async delete(
    namespace: string,
    name: string,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<DeleteResult> {
    const at = { namespace: this.#scope(namespace), name };
    const result = await storeDelete(this.#context, at, options, write);
    if (result.kind === "deleted" && !write.dryRun) {
      await this.#context.released()?.(result.object.object, undefined);
    }
    return result;
  }

  list(namespace: string, options: ListOptions): Promise<ListPage> {
    return storeList(this.#context, this.#scope(namespace), options);
  }

  async watch(namespace: string, options: WatchOptions, sink: WatchSink): Promise<ResourceWatch> {
    const asked = this.#watchVersion(options);
    await this.#reached(asked);
    const { cache } = this.#context.core;
    cache.advance(this.#context.freshness.revision);
    const predicate = compilePredicate({
      namespace: this.#scope(namespace),
      namespaced: this.info.namespaced,
      labels: options.labels,
      fields: options.fields,
    });
    const cursor = cache.watch(
      {
        predicate: options.keep?.(predicate) ?? predicate,
        bookmarks: options.allowBookmarks,
        start: this.#watchStart(options, asked),
      },
      sink,
    );
    return this.#watchHandle(cursor);
  }

  peek(namespace: string, name: string): CachedObject | undefined {
    return this.#context.core.cache.state.get(storageKey(this.#scope(namespace), name));
  }

  peekList(namespace: string): readonly CachedObject[] {
    const objects: CachedObject[] = [];
    const { from, to } = namespaceRange(keyOfText(this.#scope(namespace)));
    this.#context.core.cache.state.scan(from, to, (object) => {
      objects.push(object);
      return true;
    });
    return objects;
  }

  get size(): number {
    return this.#context.core.cache.state.size;
  }

  /** Waits until the cache is as new as requested. */
  async #reached(asked: AskedVersion): Promise<void> {
    const { freshness, store } = this.#context;
    if (asked.kind === "revision") await freshness.atLeast(asked.revision);
    else if (asked.kind === "unset") await freshness.latest(store);
  }

  /** Cluster-scoped objects have no namespace; one given by the caller is ignored. */
  #scope(namespace: string): string {
    return this.info.namespaced ? namespace : "";
  }

  #watchVersion(options: WatchOptions): AskedVersion {
    const asked = parseVersion(options.resourceVersion);
    if (!isVersionError(asked)) return asked;
    // Upstream puts the resource where the kind belongs.
    const { group, resource: kind } = this.info;
    throw invalid({ group, kind }, "", [asked]);
  }

  /** Unset and "0" start with the state unless the client says otherwise; N starts strictly after N. */
  #watchStart(options: WatchOptions, asked: AskedVersion): { after: number } | "state" {
    if (options.sendInitialEvents ?? asked.kind !== "revision") return "state";
    const { cache } = this.#context.core;
    return { after: asked.kind === "revision" ? asked.revision : cache.state.revision };
  }

  #watchHandle(cursor: Cursor): ResourceWatch {
    const { core, freshness } = this.#context;
    return {
      resume: () => cursor.resume(),
      bookmark: () => {
        core.cache.advance(freshness.revision);
        cursor.bookmark();
      },
      close: () => cursor.close(),
    };
  }
}
