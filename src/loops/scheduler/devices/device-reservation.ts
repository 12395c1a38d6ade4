/**
 * The claims of one decision until the Pod's bind: devices are in flight at once, written with the reservation before
 * the bind, and released when the Pod is not bound.
 *
 *   in flight ──preBind──► finalizer ─► status: allocation, reservedFor ──binding conditions true──► bind
 *      └──unreserve: not written yet: forgotten; written: the allocation stays, the reservation goes
 *
 * Extended resources: the claim is created first, and named in the Pod's status last.
 * After  k/k pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, bindClaim, PreBind, Unreserve.
 */
import type {
  AllocationResult,
  ContainerExtendedResourceRequest,
  Pod,
  ResourceClaim,
} from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { deleteProtection, isReservedFor } from "#api/pods/resource-claims.ts";
import { formatTime } from "#api/values/time.ts";
import type { Reservation } from "../plugin.ts";
import { hasBindingConditions, isReady } from "./binding-conditions.ts";
import { unwrittenName } from "./extended-resources.ts";
import type { DeviceLookup } from "./lookup.ts";
import { claimKey } from "./requests.ts";

/** Maximum number of attempts at a conflict, as in upstream's retry.DefaultRetry. */
const triesMax = 5;

type Mappings = readonly ContainerExtendedResourceRequest[];

interface ClaimChoice {
  readonly claim: ResourceClaim;
  /** Undefined: the claim is already allocated. */
  readonly allocation: AllocationResult | undefined;
}

export class DeviceReservation implements Reservation {
  readonly plugin = "DynamicResources";
  readonly #lookup: DeviceLookup;
  readonly #pod: Pod;
  readonly #choices: readonly ClaimChoice[];
  readonly #mappings: Mappings | undefined;
  /** The claim that was created for extended resources, as the server returned it. */
  #created: ResourceClaim | undefined;
  /** Claims that were written successfully. */
  readonly #written: ResourceClaim[] = [];

  /** With `mappings`, the last claim of `choices` is for extended resources; it is created before it is allocated. */
  constructor(
    lookup: DeviceLookup,
    pod: Pod,
    choices: readonly ClaimChoice[],
    mappings: Mappings | undefined,
  ) {
    this.#mappings = mappings;
    this.#lookup = lookup;
    this.#pod = pod;
    this.#choices = choices;
    for (const { claim, allocation } of choices) {
      if (allocation !== undefined) lookup.setInFlight(claim, allocation);
    }
  }

  async preBind(signal: AbortSignal): Promise<void> {
    for (const choice of this.#choices) {
      const isUnwritten = choice.claim.metadata?.name === unwrittenName;
      if (isUnwritten) await this.#bindExtended(choice, signal);
      else if (!isReservedFor(this.#pod, choice.claim)) await this.#bind(choice);
    }
    if (!this.#claims().some(hasBindingConditions)) return;
    await this.#lookup.waiters.until(() => this.#claims().every(isReady), signal);
  }

  unreserve(): void {
    for (const { claim, allocation } of this.#choices) {
      if (allocation !== undefined) this.#lookup.endInFlight(claim);
    }
    const uid = this.#pod.metadata?.uid ?? "";
    for (const claim of this.#written) {
      // The claim controller removes any remaining reservation when the Pod is deleted.
      const isOwn = claim.metadata?.uid === this.#created?.metadata?.uid;
      if (!isOwn) this.#lookup.removeReservation(claim, uid).catch(() => undefined);
    }
    // A claim that remains is removed at the Pod's next attempt, or with the Pod at the latest.
    if (this.#created !== undefined) this.#lookup.remove(this.#created).catch(() => undefined);
  }

  #claims(): readonly ResourceClaim[] {
    return this.#choices.map(({ claim }) => {
      const isUnwritten = claim.metadata?.name === unwrittenName;
      const { namespace = "", name = "" } = (isUnwritten ? this.#created : claim)?.metadata ?? {};
      const now = this.#lookup.claim(namespace, name);
      if (now !== undefined) return now;
      throw new Error(`resourceclaim.resource.k8s.io "${name}" not found`);
    });
  }

  async #bindExtended(choice: ClaimChoice, signal: AbortSignal): Promise<void> {
    const { name: _n, uid: _u, ...metadata } = choice.claim.metadata ?? {};
    const created = await this.#lookup.create({ ...choice.claim, metadata });
    this.#created = created;
    const { namespace = "", name = "" } = created.metadata ?? {};
    // Writes of the claim are taken into account only once the informer has the claim.
    await this.#lookup.waiters.until(
      () => this.#lookup.claim(namespace, name) !== undefined,
      signal,
    );
    await this.#bind({ claim: created, allocation: choice.allocation });
    this.#lookup.endInFlight(choice.claim);
    const requestMappings = this.#mappings ?? [];
    await this.#lookup.noteExtended(this.#pod, { requestMappings, resourceClaimName: name });
  }

  async #bind(choice: ClaimChoice): Promise<void> {
    let { claim } = choice;
    for (let tries = 1; ; tries++) {
      try {
        const written = await this.#write(claim, choice.allocation);
        this.#written.push(written);
        this.#lookup.assume(written);
        if (choice.allocation !== undefined) this.#lookup.endInFlight(written);
        return;
      } catch (error) {
        if (!isConflict(error) || tries === triesMax) throw error;
        claim = await this.#refreshed(claim);
      }
    }
  }

  async #refreshed(claim: ResourceClaim): Promise<ResourceClaim> {
    try {
      return await this.#lookup.get(claim);
    } catch (error) {
      const text = `get updated claim ${claimKey(claim)} after conflict: ${textOf(error)}`;
      throw new Error(text, { cause: error });
    }
  }

  async #write(
    given: ResourceClaim,
    allocation: AllocationResult | undefined,
  ): Promise<ResourceClaim> {
    const key = claimKey(given);
    if (given.metadata?.deletionTimestamp !== undefined) {
      throw new Error(`claim ${key} got deleted in the meantime`);
    }
    if (allocation !== undefined && given.status?.allocation !== undefined) {
      throw new Error(`claim ${key} got allocated elsewhere in the meantime`);
    }
    const claim = allocation === undefined ? given : await this.#protect(given);
    const whole = allocation ?? claim.status?.allocation;
    if (whole === undefined) {
      throw new Error(`claim ${key} got deallocated elsewhere in the meantime`);
    }
    const what = allocation === undefined ? "reservation" : "allocation and reservation";
    try {
      return await this.#lookup.updateStatus(this.#reserved(claim, whole));
    } catch (error) {
      throw asWorded(error, `add ${what} to claim ${key}`);
    }
  }

  #reserved(claim: ResourceClaim, allocation: AllocationResult): ResourceClaim {
    const { name = "", uid = "" } = this.#pod.metadata ?? {};
    const reservedFor = [...(claim.status?.reservedFor ?? []), { resource: "pods", name, uid }];
    const allocationTimestamp = allocation.allocationTimestamp ?? formatTime(this.#lookup.now());
    const timed = { ...allocation, allocationTimestamp };
    return { ...claim, status: { ...claim.status, allocation: timed, reservedFor } };
  }

  /** Adds the finalizer before the allocation, so that a claim with devices cannot vanish. */
  async #protect(claim: ResourceClaim): Promise<ResourceClaim> {
    const finalizers = claim.metadata?.finalizers ?? [];
    if (finalizers.includes(deleteProtection)) return claim;
    const metadata = { ...claim.metadata, finalizers: [...finalizers, deleteProtection] };
    try {
      return await this.#lookup.update({ ...claim, metadata });
    } catch (error) {
      throw asWorded(error, `add finalizer to claim ${claimKey(claim)}`);
    }
  }
}

/** Adds `text` to an error. A conflict stays unchanged, because the write is tried again. */
function asWorded(error: unknown, text: string): unknown {
  if (isConflict(error)) return error;
  return new Error(`${text}: ${textOf(error)}`, { cause: error });
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status.reason === "Conflict";
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
