/** What the handlers of a plane reached in the registry: kind, namespace and name of every call. */
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";

export interface Reached {
  readonly call: string;
  readonly info: ResourceInfo;
  readonly namespace: string;
  /** "" for a collection that no selector narrows to one object. */
  readonly name: string;
}

export class ReachedPlaces {
  readonly all: Reached[] = [];

  /** Empties what was noted. */
  take(): readonly Reached[] {
    return this.all.splice(0);
  }

  readonly around = (registry: Registry): Registry => ({
    store: (info) => this.#spied(info, registry.store(info)),
    ready: () => registry.ready(),
    close: () => registry.close(),
  });

  #spied(info: ResourceInfo, store: ResourceStore): ResourceStore {
    const note = (call: string, namespace: string, name: string): void =>
      void this.all.push({ call, info, namespace, name });
    return {
      info: store.info,
      get size() {
        return store.size;
      },
      get(namespace, name, options) {
        note("get", namespace, name);
        return store.get(namespace, name, options);
      },
      create(namespace, object, options) {
        note("create", namespace, object.metadata?.name ?? "");
        note("create", object.metadata?.namespace ?? "", object.metadata?.name ?? "");
        return store.create(namespace, object, options);
      },
      update(namespace, name, transform, options) {
        note("update", namespace, name);
        const noted = async (current: AnyObject | undefined): Promise<AnyObject> => {
          const next = await transform(current);
          note("update", next.metadata?.namespace ?? "", next.metadata?.name ?? "");
          return next;
        };
        return store.update(namespace, name, noted, options);
      },
      delete(namespace, name, options, write) {
        note("delete", namespace, name);
        return store.delete(namespace, name, options, write);
      },
      list(namespace, options) {
        note("list", namespace, pinnedName(options.fields));
        return store.list(namespace, options);
      },
      watch(namespace, options, sink) {
        note("watch", namespace, pinnedName(options.fields));
        return store.watch(namespace, options, sink);
      },
      peek: (namespace, name) => store.peek(namespace, name),
      peekList: (namespace) => store.peekList(namespace),
    };
  }
}

function pinnedName(fields: FieldSelector | undefined): string {
  const pinned = fields?.requirements.find(
    ({ field, operator }) => field === "metadata.name" && operator === "=",
  );
  return pinned?.value ?? "";
}
