/**
 * Maintains the list of Pods for which a claim is reserved: removes deleted and finished Pods. A claim without Pods is
 * freed and its finalizer removed. A generated claim of a finished Pod is deleted.
 */
import type { Pod, ResourceClaim, ResourceClaimConsumerReference } from "#api/gen/types.ts";
import { deleteProtection } from "#api/pods/resource-claims.ts";
import { ApiError } from "#api/status.ts";
import type { Informer } from "#client/informer.ts";
import { controllerOf } from "#client/owner.ts";
import { textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { isDone } from "./pod-claims.ts";

/** Maximum remembered uids of deleted Pods (upstream's number); the oldest are dropped. */
const goneMax = 500;

export class Reservations {
  readonly #deps: Pick<ControllerDeps, "client">;
  readonly #pods: Informer<Pod>;
  readonly #gone = new Set<string>();

  constructor(deps: Pick<ControllerDeps, "client">, pods: Informer<Pod>) {
    this.#deps = deps;
    this.#pods = pods;
  }

  noteGone(pod: Pod): void {
    const { uid } = pod.metadata ?? {};
    if (uid !== undefined) this.#gone.add(uid);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= goneMax) return;
      this.#gone.delete(oldest);
    }
  }

  async add(claim: ResourceClaim, pod: Pod): Promise<void> {
    const { namespace = "", name = "" } = claim.metadata ?? {};
    const consumer = {
      resource: "pods",
      name: pod.metadata?.name ?? "",
      uid: pod.metadata?.uid ?? "",
    };
    const reservedFor = [...(claim.status?.reservedFor ?? []), consumer];
    try {
      await this.#updateStatus({ ...claim, status: { ...claim.status, reservedFor } });
    } catch (error) {
      throw new Error(`reserve claim ${namespace}/${name}: ${textOf(error)}`, { cause: error });
    }
  }

  async sync(claim: ResourceClaim): Promise<void> {
    const reservedFor = claim.status?.reservedFor ?? [];
    const remaining: ResourceClaimConsumerReference[] = [];
    for (const consumer of reservedFor) {
      if (await this.#isKept(claim, consumer)) remaining.push(consumer);
    }
    if (remaining.length < reservedFor.length) await this.#drop(claim, remaining);
    else if (remaining.length === 0 && isGoing(claim)) await this.#free(claim);
    if (remaining.length === 0) await this.#deleteGenerated(claim);
  }

  /** Consumers of other kinds are kept, because only their own controllers know about them. */
  async #isKept(
    claim: ResourceClaim,
    { apiGroup = "", resource, name, uid }: ResourceClaimConsumerReference,
  ): Promise<boolean> {
    if (apiGroup !== "" || resource !== "pods") return true;
    if (this.#gone.has(uid)) return false;
    const namespace = claim.metadata?.namespace ?? "";
    const known = this.#pods.get(namespace, name);
    if (known !== undefined) return known.metadata?.uid === uid && !isDone(known);
    // The cache may be behind.
    const pod = await this.#livePod(namespace, name);
    return pod?.metadata?.uid === uid;
  }

  async #livePod(namespace: string, name: string): Promise<Pod | undefined> {
    try {
      return await this.#deps.client.get<Pod>(refs.pods, namespace, name);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined;
      throw error;
    }
  }

  async #drop(
    claim: ResourceClaim,
    remaining: readonly ResourceClaimConsumerReference[],
  ): Promise<void> {
    const isFreed = remaining.length === 0 && isProtected(claim);
    const { reservedFor: _, allocation, ...rest } = claim.status ?? {};
    const kept = remaining.length === 0 ? {} : { reservedFor: remaining };
    const allocated = isFreed || allocation === undefined ? {} : { allocation };
    const status = { ...rest, ...kept, ...allocated };
    const written = await this.#updateStatus({ ...claim, status });
    if (isProtected(written) && written.status?.allocation === undefined) {
      await this.#unprotect(written);
    }
  }

  /** Deallocates a claim that is being deleted and not used. */
  async #free(claim: ResourceClaim): Promise<void> {
    let written = claim;
    if (claim.status?.allocation !== undefined) {
      const { allocation: _, ...status } = claim.status;
      written = await this.#updateStatus({ ...claim, status });
    }
    await this.#unprotect(written);
  }

  async #unprotect(claim: ResourceClaim): Promise<void> {
    const finalizers = (claim.metadata?.finalizers ?? []).filter((one) => one !== deleteProtection);
    const metadata = { ...claim.metadata, finalizers };
    const namespace = metadata.namespace ?? "";
    await this.#deps.client.update(refs.resourceclaims, namespace, { ...claim, metadata });
  }

  #updateStatus(claim: ResourceClaim): Promise<ResourceClaim> {
    const namespace = claim.metadata?.namespace ?? "";
    const options = { subresource: "status" };
    return this.#deps.client.update(refs.resourceclaims, namespace, claim, options);
  }

  async #deleteGenerated(claim: ResourceClaim): Promise<void> {
    const owner = controllerOf(claim);
    if (owner?.apiVersion !== "v1" || owner.kind !== "Pod") return;
    if (claim.metadata?.deletionTimestamp !== undefined) return;
    const { namespace = "", name = "", uid } = claim.metadata ?? {};
    const pod = this.#pods.get(namespace, owner.name);
    // The Pod is gone, so the garbage collector deletes its claims.
    if (pod === undefined || (pod.metadata?.uid === owner.uid && !isDone(pod))) return;
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    try {
      await this.#deps.client.delete(refs.resourceclaims, namespace, name, preconditions);
    } catch (error) {
      if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return;
      const text = `delete unused generated claim ${namespace}/${name}: ${textOf(error)}`;
      throw new Error(text, { cause: error });
    }
  }
}

function isProtected({ metadata }: ResourceClaim): boolean {
  return (metadata?.finalizers ?? []).includes(deleteProtection);
}

function isGoing(claim: ResourceClaim): boolean {
  return claim.metadata?.deletionTimestamp !== undefined && isProtected(claim);
}
