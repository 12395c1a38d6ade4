/**
 * The volumes of one decision, from the decision to the Pod's bind: assumed at once, written before the bind, and
 * released when the Pod is not bound.
 *
 *   assumed ──preBind──► volumes and claims written ──binder binds the claims──► done
 *      └──unreserve (any step failed)──► as the server shows them
 *
 * After  k/k pkg/scheduler/framework/plugins/volumebinding/binder.go, BindPodVolumes.
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import {
  annotationOf,
  isFullyBound,
  keyOfClaim,
  selectedNode,
  withAnnotations,
} from "#api/volumes/binding.ts";
import { isUsableOn } from "#api/volumes/volume-index.ts";
import type { VolumeWrites } from "./claims.ts";
import { asOnNode } from "./csi-migration.ts";
import type { Reservation } from "./plugin.ts";

export interface Binding {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

interface Choice {
  readonly bindings: readonly Binding[];
  readonly provisions: readonly PersistentVolumeClaim[];
  readonly node: Node;
  readonly bindTimeoutMs: number;
}

export class VolumeReservation implements Reservation {
  readonly plugin = "VolumeBinding";
  readonly #writes: VolumeWrites;
  readonly #node: Node;
  readonly #bindTimeoutMs: number;
  #bindings: readonly Binding[];
  #provisions: readonly PersistentVolumeClaim[];

  constructor(writes: VolumeWrites, { bindings, provisions, node, bindTimeoutMs }: Choice) {
    this.#writes = writes;
    this.#node = node;
    this.#bindTimeoutMs = bindTimeoutMs;
    const nodeName = node.metadata?.name ?? "";
    this.#bindings = bindings;
    this.#provisions = provisions.map((claim) =>
      withAnnotations(claim, { [selectedNode]: nodeName }),
    );
    for (const { volume } of bindings) writes.assumeVolume(volume);
    for (const claim of this.#provisions) writes.assumeClaim(claim);
  }

  async preBind(signal: AbortSignal): Promise<void> {
    const bindings: Binding[] = [];
    for (const { volume, claim } of this.#bindings) {
      bindings.push({ volume: await this.#writes.updateVolume(volume), claim });
    }
    this.#bindings = bindings;
    const provisions: PersistentVolumeClaim[] = [];
    for (const claim of this.#provisions) provisions.push(await this.#writes.updateClaim(claim));
    this.#provisions = provisions;
    try {
      await this.#writes.until(() => this.#isBound(), this.#bindTimeoutMs, signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`binding volumes: ${message}`, { cause: error });
    }
  }

  unreserve(): void {
    for (const { volume } of this.#bindings) {
      this.#writes.restoreVolume(volume.metadata?.name ?? "");
    }
    for (const { metadata } of this.#provisions) {
      this.#writes.restoreClaim(metadata?.namespace ?? "", metadata?.name ?? "");
    }
  }

  /** Whether all claims are bound. @throws when that can no longer happen. */
  #isBound(): boolean {
    const isEachBound = this.#bindings.map((binding) => this.#isClaimBound(binding));
    const isEachMade = this.#provisions.map((claim) => this.#isProvisioned(claim));
    return [...isEachBound, ...isEachMade].every(Boolean);
  }

  #isClaimBound({ volume, claim }: Binding): boolean {
    const name = volume.metadata?.name ?? "";
    const shown = this.#writes.shownVolume(name);
    if (shown === undefined) {
      throw new Error(`failed to check binding: could not find v1.PersistentVolume ${quote(name)}`);
    }
    const now = this.#shownClaim(claim, "failed to check binding");
    if (isOlder(shown, volume)) return false;
    this.#assertUsable(shown);
    if ((shown.spec?.claimRef?.uid ?? "") === "") {
      throw new Error(`ClaimRef got reset for pv ${quote(name)}`);
    }
    return isFullyBound(now);
  }

  #isProvisioned(claim: PersistentVolumeClaim): boolean {
    const now = this.#shownClaim(claim, "failed to check provisioning pvc");
    if (isOlder(now, claim)) return false;
    const name = quote(claim.metadata?.name ?? "");
    if (now.metadata?.annotations === undefined) {
      throw new Error(`selectedNode annotation reset for PVC ${name}`);
    }
    // The provisioner has failed and removed the annotation, so that another node is chosen.
    if (annotationOf(now, selectedNode) !== this.#node.metadata?.name) {
      throw new Error(`provisioning failed for PVC ${name}`);
    }
    const volumeName = now.spec?.volumeName ?? "";
    if (volumeName !== "") {
      const volume = this.#writes.shownVolume(volumeName);
      if (volume === undefined) return false;
      this.#assertUsable(volume);
    }
    return isFullyBound(now);
  }

  #shownClaim(claim: PersistentVolumeClaim, what: string): PersistentVolumeClaim {
    const { namespace = "", name = "", uid } = claim.metadata ?? {};
    const now = this.#writes.shownClaim(namespace, name);
    if (now !== undefined && now.metadata?.uid === uid) return now;
    const key = quote(keyOfClaim(claim));
    throw new Error(`${what}: could not find v1.PersistentVolumeClaim ${key}`);
  }

  #assertUsable(volume: PersistentVolume): void {
    if (isUsableOn(asOnNode(volume, this.#node, this.#writes), this.#node)) return;
    const [name, node] = [volume.metadata?.name ?? "", this.#node.metadata?.name ?? ""].map(quote);
    throw new Error(
      `pv ${name} node affinity doesn't match node ${node}: no matching NodeSelectorTerms`,
    );
  }
}

function quote(text: string): string {
  return `"${text}"`;
}

function isOlder(a: PersistentVolume, b: PersistentVolume): boolean {
  return Number(a.metadata?.resourceVersion ?? 0) < Number(b.metadata?.resourceVersion ?? 0);
}
