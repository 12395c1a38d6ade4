/**
 * The scheduler's view of claims, slices and classes: the server's state plus assumed objects. Also makes the writes
 * that store an allocation in a claim.
 *
 *   in flight ──preBind──► written and assumed ──the server shows it──► allocated
 *      └──unreserve──► as the server shows it
 *
 * Holds  a device in flight or assumed counts as allocated: no other decision gets it.
 * Bounds one entry per claim of Pods between decision and bind.
 * After  k/k pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go.
 */
import type {
  AllocationResult,
  DeviceClass,
  Pod,
  PodExtendedResourceClaimStatus,
  ResourceClaim,
  ResourceSlice,
} from "#api/gen/types.ts";
import { deleteProtection } from "#api/pods/resource-claims.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { keyOf, objectKey } from "#client/indexer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { ClusterEvent } from "../hints.ts";
import { ClaimWaiters } from "./claim-waiters.ts";
import { DeviceState } from "./device-state.ts";
import { extendedClaimOwner } from "./extended-resources.ts";
import type { DeviceLookup } from "./lookup.ts";

const resource = (name: string): ResourceRef => ({
  group: "resource.k8s.io",
  version: "v1",
  resource: name,
});
const claimsRef = resource("resourceclaims");
const podsRef: ResourceRef = { group: "", version: "v1", resource: "pods" };

interface DevicesDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly informers: InformerSet;
}

export class Devices implements DeviceLookup {
  readonly state = new DeviceState();
  readonly waiters: ClaimWaiters;
  readonly #deps: DevicesDeps;
  readonly #claims: Informer<ResourceClaim>;
  readonly #slices: Informer<ResourceSlice>;
  readonly #classes: Informer<DeviceClass>;
  /** By claim key: claims as this scheduler wrote them, until the server shows that version or a later one. */
  readonly #assumed = new Map<string, ResourceClaim>();
  /** By Pod uid: claims for extended resources. */
  readonly #extended = new Map<string, ResourceClaim>();
  /** By claim uid: allocations that are decided but not written yet. */
  readonly #inFlight = new Map<string, AllocationResult>();

  constructor(deps: DevicesDeps) {
    this.#deps = deps;
    this.waiters = new ClaimWaiters(deps.clock);
    this.#claims = deps.informers.informer<ResourceClaim>(claimsRef);
    this.#slices = deps.informers.informer<ResourceSlice>(resource("resourceslices"));
    this.#classes = deps.informers.informer<DeviceClass>(resource("deviceclasses"));
  }

  get synced(): readonly Promise<void>[] {
    return [this.#claims.synced, this.#slices.synced, this.#classes.synced];
  }

  /**
   * `happened` receives changes in batches; `classesChanged` is called at once when classes change. Call once. @returns
   * the functions that remove the handlers.
   */
  subscribe(
    happened: (event: ClusterEvent) => void,
    classesChanged: () => void,
  ): readonly (() => void)[] {
    const changed = { batch: () => happened({ kind: "devices" }) };
    const setClass = (one: DeviceClass): void => {
      this.state.setClass(one);
      classesChanged();
    };
    return [
      this.#claims.addHandler({
        add: (claim) => this.#shown(claim),
        update: (_old, claim) => this.#shown(claim),
        delete: (claim) => this.#gone(claim),
        batch: (changes) => {
          this.waiters.ask();
          const event = eventOf(changes);
          if (event !== undefined) happened(event);
        },
      }),
      this.#slices.addHandler({
        add: (slice) => this.state.pools.set(slice),
        update: (_old, slice) => this.state.pools.set(slice),
        delete: (slice) => this.state.pools.delete(slice),
        ...changed,
      }),
      this.#classes.addHandler({
        add: setClass,
        update: (_old, one) => setClass(one),
        delete: ({ metadata }) => {
          this.state.deleteClass(metadata?.name ?? "");
          classesChanged();
        },
        batch: () => happened({ kind: "devices", hasNewClasses: true }),
      }),
    ];
  }

  claim(namespace: string, name: string): ResourceClaim | undefined {
    const key = objectKey(namespace, name);
    return this.#assumed.get(key) ?? this.#claims.getByKey(key);
  }

  extendedClaimOf(podUid: string): ResourceClaim | undefined {
    return this.#extended.get(podUid);
  }

  newShareId(): string {
    return this.#deps.random.uuid();
  }

  now(): number {
    return this.#deps.clock.nowMs();
  }

  isInFlight(uid: string): boolean {
    return this.#inFlight.has(uid);
  }

  setInFlight(claim: ResourceClaim, allocation: AllocationResult): void {
    const { uid = "" } = claim.metadata ?? {};
    this.#inFlight.set(uid, allocation);
    this.state.allocated.set(uid, allocation);
  }

  endInFlight(claim: ResourceClaim): void {
    this.#inFlight.delete(claim.metadata?.uid ?? "");
    this.#recount(claim);
  }

  assume(claim: ResourceClaim): void {
    const shown = this.#claims.getByKey(keyOf(claim));
    // The server has already shown that the claim was deleted, or deleted and created again.
    if (shown === undefined || shown.metadata?.uid !== claim.metadata?.uid) return;
    if (!isNewer(claim, shown)) return;
    this.#assumed.set(keyOf(claim), claim);
    this.#recount(claim);
  }

  get(claim: ResourceClaim): Promise<ResourceClaim> {
    const { namespace = "", name = "" } = claim.metadata ?? {};
    return this.#deps.client.get(claimsRef, namespace, name);
  }

  update(claim: ResourceClaim): Promise<ResourceClaim> {
    return this.#deps.client.update(claimsRef, claim.metadata?.namespace ?? "", claim);
  }

  updateStatus(claim: ResourceClaim): Promise<ResourceClaim> {
    const options = { subresource: "status" };
    return this.#deps.client.update(claimsRef, claim.metadata?.namespace ?? "", claim, options);
  }

  create(claim: ResourceClaim): Promise<ResourceClaim> {
    return this.#deps.client.create(claimsRef, claim.metadata?.namespace ?? "", claim);
  }

  async remove(claim: ResourceClaim): Promise<void> {
    const known = await this.get(claim);
    const { namespace = "", name = "", uid = "", finalizers = [] } = known.metadata ?? {};
    const left = finalizers.filter((one) => one !== deleteProtection);
    if (left.length < finalizers.length) {
      await this.update({ ...known, metadata: { ...known.metadata, finalizers: left } });
    }
    await this.#deps.client.delete(claimsRef, namespace, name, { preconditions: { uid } });
  }

  async noteExtended(pod: Pod, extended: PodExtendedResourceClaimStatus): Promise<void> {
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const patch = { metadata: { uid }, status: { extendedResourceClaimStatus: extended } };
    const options = { subresource: "status" };
    await this.#deps.client.patch(podsRef, namespace, name, "strategic", patch, options);
  }

  async removeReservation(claim: ResourceClaim, podUid: string): Promise<void> {
    const { namespace = "", name = "", uid } = claim.metadata ?? {};
    const status = { reservedFor: [{ $patch: "delete", uid: podUid }] };
    const options = { subresource: "status" };
    const patch = { metadata: { uid }, status };
    await this.#deps.client.patch(claimsRef, namespace, name, "strategic", patch, options);
  }

  #shown(claim: ResourceClaim): void {
    const key = keyOf(claim);
    const podUid = extendedClaimOwner(claim);
    if (podUid !== undefined) this.#extended.set(podUid, claim);
    const assumed = this.#assumed.get(key);
    if (assumed !== undefined && !isNewer(assumed, claim)) this.#assumed.delete(key);
    this.#recount(claim);
  }

  #gone(claim: ResourceClaim): void {
    const podUid = extendedClaimOwner(claim);
    if (podUid !== undefined) this.#extended.delete(podUid);
    this.#assumed.delete(keyOf(claim));
    this.#inFlight.delete(claim.metadata?.uid ?? "");
    this.state.allocated.set(claim.metadata?.uid ?? "", undefined);
  }

  /** Records the claim's allocation: the one in flight, else the assumed one, else the one that the server shows. */
  #recount({ metadata }: ResourceClaim): void {
    const { namespace = "", name = "", uid = "" } = metadata ?? {};
    const known = this.claim(namespace, name);
    const isSame = known?.metadata?.uid === uid;
    const shown = isSame ? known.status?.allocation : undefined;
    this.state.allocated.set(uid, this.#inFlight.get(uid) ?? shown);
  }
}

/** resourceVersions of one resource are comparable integers (KEP-5504). */
function isNewer(a: ResourceClaim, b: ResourceClaim): boolean {
  return Number(a.metadata?.resourceVersion ?? 0) > Number(b.metadata?.resourceVersion ?? 0);
}

interface Change {
  readonly kind: "add" | "update" | "delete";
  readonly old?: ResourceClaim;
  readonly object: ResourceClaim;
}

/** Returns the event for a batch of changes. Undefined: no change that a Pod could be waiting for. */
function eventOf(changes: readonly Change[]): ClusterEvent | undefined {
  const claims = new Set<string>();
  for (const { kind, old, object } of changes) {
    const had = kind === "delete" ? object : old;
    const isFreed = kind === "delete" || object.status?.allocation === undefined;
    // The claim's devices were released, which may help every Pod.
    if (had?.status?.allocation !== undefined && isFreed) return { kind: "devices" };
    if (kind === "delete" || (old !== undefined && jsonEqual(old.status, object.status))) continue;
    claims.add(keyOf(object));
  }
  return claims.size === 0 ? undefined : { kind: "devices", claims };
}
