/**
 * Sums the desired replicas of the controllers of some pods: the total from which a budget takes its share.
 *
 * Known kinds are read from the caches; for any other kind the `scale` subresource is read, which must exist. A pod
 * without a controller does not count.
 */
import type {
  Deployment,
  Pod,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from "#api/gen/types.ts";
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import { watch, type Source } from "#client/sources.ts";
import { controllerOf } from "#client/owner.ts";
import { refs } from "../framework/refs.ts";
import { findScaledResource } from "../scaling/scale.ts";

export interface Expected {
  readonly count: number;
  /** Names of pods without a controller. */
  readonly unmanaged: readonly string[];
}

interface Scaled extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

export class ExpectedPods {
  readonly #client: Client;
  readonly #replicaSets: Informer<ReplicaSet>;
  /** Informers of kinds with a number of replicas, by `group/Kind`. */
  readonly #known: ReadonlyMap<string, Informer<Scaled>>;

  constructor(deps: { readonly client: Client; readonly informers: InformerSet }) {
    const { client, informers } = deps;
    this.#client = client;
    this.#replicaSets = informers.informer<ReplicaSet>(refs.replicasets);
    this.#known = new Map<string, Informer<Scaled>>([
      ["apps/ReplicaSet", this.#replicaSets],
      ["apps/Deployment", informers.informer<Deployment>(refs.deployments)],
      ["apps/StatefulSet", informers.informer<StatefulSet>(refs.statefulsets)],
      [
        "/ReplicationController",
        informers.informer<ReplicationController>(refs.replicationcontrollers),
      ],
    ]);
  }

  /** Changes of objects of the known kinds: added, deleted, or scaled. */
  watch(keysOf: (owner: KubeObject) => readonly string[]): readonly Source[] {
    const changed = (old: KubeObject, owner: KubeObject): boolean =>
      old.metadata?.generation !== owner.metadata?.generation;
    return [...this.#known.values()].map((informer) => watch(informer, keysOf, { changed }));
  }

  /** Throws when the controller of a pod cannot be found or has no scale. */
  async of(pods: readonly Pod[]): Promise<Expected> {
    const scales = new Map<string, number>();
    const asked = new Set<string>();
    const unmanaged: string[] = [];
    for (const pod of pods) {
      const owner = controllerOf(pod);
      const name = pod.metadata?.name ?? "";
      if (owner === undefined) unmanaged.push(name);
      if (owner === undefined || asked.has(owner.uid)) continue;
      asked.add(owner.uid);
      const scale = await this.#scaleOf(owner, pod.metadata?.namespace ?? "");
      if (scale === undefined)
        throw new Error(`found no controllers for pod ${JSON.stringify(name)}`);
      scales.set(scale.uid, scale.replicas);
    }
    const count = [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
    return { count, unmanaged };
  }

  async #scaleOf(owner: OwnerReference, namespace: string): Promise<Scale | undefined> {
    const group = parseApiVersion(owner.apiVersion)?.group ?? "";
    const informer = this.#known.get(`${group}/${owner.kind}`);
    if (informer === undefined) return this.#askScale(owner, namespace);
    const object = informer.get(namespace, owner.name);
    if (object?.metadata?.uid !== owner.uid) return undefined;
    // All ReplicaSets of a Deployment belong to the same scaled object.
    const parent = informer === this.#replicaSets ? controllerOf(object) : undefined;
    if (parent?.kind === "Deployment") return this.#scaleOf(parent, namespace);
    return { uid: owner.uid, replicas: object.spec?.replicas ?? 1 };
  }

  async #askScale(owner: OwnerReference, namespace: string): Promise<Scale | undefined> {
    const ref = await findScaledResource(this.#client, owner.apiVersion, owner.kind);
    if (ref === undefined) return undefined;
    try {
      const options = { subresource: "scale" };
      const scale = await this.#client.get<Scaled>(ref, namespace, owner.name, options);
      if (scale.metadata?.uid !== owner.uid) return undefined;
      return { uid: owner.uid, replicas: scale.spec?.replicas ?? 0 };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
