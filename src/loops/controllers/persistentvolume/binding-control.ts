/**
 * The binder's writes: each updates the version on which it was decided, so that of two bindings of one volume the
 * later one is refused. No request is sent when the object already has the wanted state.
 *
 * Order  volume, its phase, claim, its phase: a crash between two of them leaves a binding that the next
 *        reconcile completes, because the volume's claimRef has the claim's uid.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { claimBoundTo, isVolumeOf, volumeBoundTo } from "#api/volumes/binding.ts";
import type { VolumeIndex } from "#api/volumes/volume-index.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { formatTime } from "#api/values/time.ts";
import type { Clock } from "#platform/clock.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import type { EventText } from "./claim-plan.ts";
import type { OwnWrites } from "./own-writes.ts";
import { boundClaimStatus, volumeWithPhase } from "./status.ts";
import { unboundVolume } from "./volume-plan.ts";

const status = { subresource: "status" };

interface BindingDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly index: VolumeIndex;
  readonly volumes: OwnWrites<PersistentVolume>;
  readonly claims: OwnWrites<PersistentVolumeClaim>;
}

export class BindingControl {
  readonly #deps: BindingDeps;

  constructor(deps: BindingDeps) {
    this.#deps = deps;
  }

  async bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    const bound = volumeBoundTo(volume, claim);
    // Prevents other claims from choosing it during the write.
    if (!isVolumeOf(volume, claim)) this.#deps.index.set(bound);
    const written = await this.writeVolume(volume, bound);
    const inPhase = await this.setVolumePhase(written, "Bound");
    const taken = await this.writeClaim(claim, claimBoundTo(claim, inPhase));
    await this.writeClaimStatus(taken, boundClaimStatus(taken, inPhase));
  }

  async unbind(volume: PersistentVolume): Promise<void> {
    const freed = await this.writeVolume(volume, unboundVolume(volume));
    await this.setVolumePhase(freed, "Available");
  }

  async writeClaim(
    old: PersistentVolumeClaim,
    next: PersistentVolumeClaim,
  ): Promise<PersistentVolumeClaim> {
    if (next === old) return old;
    const namespace = next.metadata?.namespace ?? "";
    const { client, claims } = this.#deps;
    return claims.note(await client.update(refs.persistentvolumeclaims, namespace, next));
  }

  async writeClaimStatus(old: PersistentVolumeClaim, next: PersistentVolumeClaim): Promise<void> {
    if (next === old) return;
    const namespace = next.metadata?.namespace ?? "";
    const { client, claims } = this.#deps;
    claims.note(await client.update(refs.persistentvolumeclaims, namespace, next, status));
  }

  async setVolumePhase(
    volume: PersistentVolume,
    phase: "Available" | "Bound" | "Released",
  ): Promise<PersistentVolume> {
    const next = volumeWithPhase(volume, { phase, since: this.#now() });
    return next === volume ? volume : this.#writeVolumeStatus(next);
  }

  /** Sets phase Failed and records the event; a volume that has failed is left unchanged. */
  async fail(volume: PersistentVolume, event: EventText): Promise<void> {
    const { message } = event;
    const next = volumeWithPhase(volume, { phase: "Failed", since: this.#now(), message });
    if (next === volume) return;
    const failed = await this.#writeVolumeStatus(next);
    this.#deps.recorder.event(failed, event.type, event.reason, event.message);
  }

  async deleteVolume(volume: PersistentVolume): Promise<void> {
    const { name = "", uid = "" } = volume.metadata ?? {};
    const options = { preconditions: { uid } };
    await this.#deps.client.delete(refs.persistentvolumes, "", name, options).catch(ignoreGone);
  }

  async writeVolume(old: PersistentVolume, next: PersistentVolume): Promise<PersistentVolume> {
    if (next === old) return old;
    const { client, index, volumes } = this.#deps;
    try {
      const written = volumes.note(await client.update(refs.persistentvolumes, "", next));
      index.set(written);
      return written;
    } catch (error) {
      this.#restore(old);
      throw error;
    }
  }

  async #writeVolumeStatus(next: PersistentVolume): Promise<PersistentVolume> {
    const { client, index, volumes } = this.#deps;
    const written = volumes.note(await client.update(refs.persistentvolumes, "", next, status));
    index.set(written);
    return written;
  }

  #now(): string {
    return formatTime(this.#deps.clock.nowMs());
  }

  /** Restores the volume's entry in the index. */
  #restore(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    const known = this.#deps.volumes.get(name);
    if (known === undefined) this.#deps.index.delete(name);
    else this.#deps.index.set(known);
  }
}
