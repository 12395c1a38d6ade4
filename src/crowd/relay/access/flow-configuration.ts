/**
 * What priority and fairness of a relay goes by: FlowSchemas and PriorityLevelConfigurations of the upstream, as mirrored,
 * and what lists of mirrored resources cost.
 *
 * Without a mirror of the two kinds that has its list, there are none: the gate then goes by the configuration that every
 * cluster starts with.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { Load } from "#flowcontrol/work.ts";
import type { KnownState } from "#watch/cache-state.ts";
import type { MirrorSet } from "../mirror/mirror-set.ts";
import type { Mirrored } from "../mirror/mirrored.ts";

const group = "flowcontrol.apiserver.k8s.io";

/** Names of the mirrored resources, as an operator writes them. */
export const flowResources: readonly string[] = [
  `${group}/v1/flowschemas`,
  `${group}/v1/prioritylevelconfigurations`,
];

export class FlowConfiguration implements Lister {
  readonly #mirrors: Pick<MirrorSet, "byId">;
  #version = 0;
  /** Positions of the mirrors of both kinds at `#version`. */
  #at: readonly number[] = [];

  constructor(mirrors: Pick<MirrorSet, "byId">) {
    this.#mirrors = mirrors;
  }

  /** Version of the configuration; rises whenever an object of one of the two kinds may have changed. */
  readonly version = (): number => {
    const at = flowResources.flatMap((id) => {
      const state = this.#stateOf(id);
      return state === undefined ? [-1, -1] : [state.changedAt, state.resets];
    });
    if (at.some((value, index) => value !== this.#at[index])) {
      this.#at = at;
      this.#version++;
    }
    return this.#version;
  };

  list(resource: GroupResource, _namespace: string): readonly AnyObject[] {
    const objects: AnyObject[] = [];
    this.#stateOf(`${resource.group}/v1/${resource.resource}`)?.scan("", "\u{10ffff}", (entry) => {
      objects.push(entry.object);
      return true;
    });
    return objects;
  }

  get(resource: GroupResource, namespace: string, name: string): AnyObject | undefined {
    return this.list(resource, namespace).find(({ metadata }) => metadata?.name === name);
  }

  #stateOf(id: string): KnownState | undefined {
    const mirror = this.#mirrors.byId(id)?.mirror;
    return mirror?.ready === true && !mirror.closed ? mirror.cache.state : undefined;
  }
}

/** Estimates the cost of a mirrored list: number of objects in its namespace, at the mean object size of the resource. */
export function mirroredLoad(mirrored: () => readonly Mirrored[]): Omit<Load, "watchers"> {
  const stateOf = (group: string, resource: string): KnownState | undefined => {
    const found = mirrored().find(({ kind }) => kind.group === group && kind.resource === resource);
    return found?.mirror.ready === true ? found.mirror.cache.state : undefined;
  };
  return {
    objects(group, resource, namespace) {
      const state = stateOf(group, resource);
      if (state === undefined || namespace === "") return state?.size;
      return state.countRange(`${namespace}/`, `${namespace}0`);
    },
    bytesPerObject(group, resource) {
      const state = stateOf(group, resource);
      return state === undefined || state.size === 0 ? undefined : state.bytes / state.size;
    },
  };
}
