/** For tests: a registry over a store in memory, in virtual time, with the real strategies. */
import { must } from "#base/assert.ts";
import { silentLog } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import { ApiError } from "#api/status.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import type { Store } from "#store/store.ts";
import { openMemoryStore } from "#store/open.ts";
import { recommendedOptions, type StoreOptions } from "#store/options.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { OpenRegistry, RegistryOptions } from "../registry.ts";
import { createRegistry, recommendedRegistryOptions } from "../registry.ts";
import type { ResourceStore, Transform, UpdateOptions, UpdateResult } from "../resource-store.ts";

export interface World {
  readonly clock: FakeClock;
  readonly store: Store;
  readonly registry: OpenRegistry;
  readonly resource: (name: string) => ResourceStore;
}

export async function newWorld(
  options: Partial<RegistryOptions> = {},
  random: Random = new FakeRandom(7),
  limits: Partial<StoreOptions> = {},
): Promise<World> {
  const clock = new FakeClock();
  const deps = { clock, random, log: silentLog };
  const store = await openMemoryStore(deps, { ...recommendedOptions, ...limits });
  return { clock, store, ...openRegistry({ clock, random, store }, options) };
}

/** Opens another registry over the same store, like a second process. */
export function openRegistry(
  deps: { clock: FakeClock; random: Random; store: Store },
  options: Partial<RegistryOptions> = {},
): Pick<World, "registry" | "resource"> {
  const registry = createRegistry(
    {
      ...deps,
      log: silentLog,
      strategyFor: (info) => strategyFor(info.group, info.resource),
      fieldValue,
    },
    { ...recommendedRegistryOptions, shouldFreeze: true, ...options },
  );
  return { registry, resource: (name) => registry.store(resourceInfo(name)) };
}

/** `name` such as `pods` or `deployments.apps`. */
function resourceInfo(name: string): ResourceInfo {
  const [resource, ...group] = name.split(".");
  const info = builtinResources().find(
    (row) => row.resource === resource && row.group === group.join("."),
  );
  return must(info, `no resource ${name}`);
}

export const plainWrite = { dryRun: false } as const;
export const plainUpdate: UpdateOptions = { dryRun: false, subresource: "" };

export function configMap(name: string, fields: AnyObject = {}): AnyObject {
  const metadata = { name, ...fields.metadata };
  return { apiVersion: "v1", kind: "ConfigMap", ...fields, metadata };
}

/** Stores the current object with the metadata and fields of `change`, keeping its resourceVersion. */
export function put(
  store: ResourceStore,
  at: string,
  change: (current: AnyObject) => AnyObject,
  options: Partial<UpdateOptions> = {},
): Promise<UpdateResult> {
  const [namespace, name] = at.includes("/") ? at.split("/") : ["", at];
  const transform: Transform = (current) => change(current ?? {});
  return store.update(namespace ?? "", name ?? "", transform, { ...plainUpdate, ...options });
}

/** `409 Conflict: text`, or `ok`. */
export async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "ok";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.code} ${error.reason}: ${error.message}`;
  }
}

export class RecordingSink implements WatchSink {
  readonly items: WatchItem[] = [];
  full = false;
  error: Error | undefined;
  ended = false;

  deliver(items: readonly WatchItem[]): boolean {
    if (this.full) return false;
    this.items.push(...items);
    return true;
  }

  end(error?: Error): void {
    this.ended = true;
    this.error = error;
  }

  /** One line per event, such as `ADDED default/x@5`. */
  get lines(): string[] {
    return this.items.map(({ type, object, resourceVersion, initialEventsEnd }) => {
      if (object === undefined) {
        return `${type} @${resourceVersion}${initialEventsEnd === true ? " end" : ""}`;
      }
      return `${type} ${object.namespace}/${object.name}@${object.resourceVersion}`;
    });
  }
}
