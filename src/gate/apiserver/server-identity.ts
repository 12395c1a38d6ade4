/**
 * Maintains the Lease in kube-system that identifies an API server: renewed every ten seconds while the server runs,
 * deleted when it stops. Once an hour, expired leases of other servers are deleted.
 *
 * Fails  a failed renewal is logged and tried again ten seconds later: the lease lasts an hour.
 * After  upstream's identity lease controller and its garbage collector.
 */
import { createHash } from "node:crypto";
import type { Lease } from "#api/gen/types.ts";
import { formatMicroTime } from "#api/values/time.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Catalog } from "./kind.ts";
import { type StoredKind, storedKind } from "./stored-kind.ts";

const namespace = "kube-system";
const identity = "kube-apiserver";
const identityLabel = "apiserver.kubernetes.io/identity";
const renewMs = 10_000;
const leaseSeconds = 3_600;
const collectMs = 3_600_000;
const base32 = "abcdefghijklmnopqrstuvwxyz234567";

interface IdentityDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class ServerIdentity {
  readonly #deps: IdentityDeps;
  readonly #hostname: string;
  readonly #name: string;
  readonly #holder: string;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;
  #collectedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: IdentityDeps, hostname: string) {
    this.#deps = deps;
    this.#hostname = hostname;
    this.#name = identityName(hostname);
    this.#holder = `${this.#name}_${deps.random.uuid()}`;
  }

  start(): void {
    this.#running = this.#round();
  }

  /** Resolves when the lease has been deleted. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#running;
    await this.#attempt("was not deleted", () => this.#delete(this.#name));
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    await this.#attempt("was not renewed", () => this.#renew());
    await this.#attempt("of an earlier server was not deleted", () => this.#collect());
    if (this.#closed) return;
    this.#timer = this.#deps.clock.after("apiserver.identity", renewMs, () => this.start());
  }

  async #attempt(failed: string, f: () => Promise<void>): Promise<void> {
    try {
      await f();
    } catch (error) {
      this.#deps.log.warn(`the identity lease ${failed}`, { error: String(error) });
    }
  }

  get #leases(): StoredKind | undefined {
    const kind = this.#deps.catalog.find("coordination.k8s.io", "v1", "leases");
    return kind === undefined ? undefined : storedKind(kind);
  }

  async #renew(): Promise<void> {
    const leases = this.#leases;
    if (leases === undefined) return;
    const next = (current: AnyObject | undefined): AnyObject =>
      leases.toStored(leases.applyDefaults(this.#lease(current as Lease | undefined)));
    const known = leases.store.peek(namespace, this.#name) !== undefined;
    if (!known)
      return void (await leases.store.create(namespace, next(undefined), { dryRun: false }));
    const options = { subresource: "", dryRun: false };
    await leases.store.update(namespace, this.#name, next, options);
  }

  #lease(current: Lease | undefined): AnyObject {
    const now = formatMicroTime(this.#deps.clock.nowMs());
    const isOurs = current?.spec?.holderIdentity === this.#holder;
    const lease: Lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      ...current,
      metadata: {
        ...current?.metadata,
        name: this.#name,
        namespace,
        labels: {
          ...current?.metadata?.labels,
          [identityLabel]: identity,
          "kubernetes.io/hostname": this.#hostname,
        },
      },
      spec: {
        ...(isOurs ? current.spec : { acquireTime: now }),
        holderIdentity: this.#holder,
        leaseDurationSeconds: leaseSeconds,
        renewTime: now,
      },
    };
    return lease as AnyObject;
  }

  async #collect(): Promise<void> {
    const { clock } = this.#deps;
    if (clock.monotonicMs() - this.#collectedMs < collectMs) return;
    this.#collectedMs = clock.monotonicMs();
    for (const name of this.#expired()) await this.#delete(name);
  }

  #expired(): readonly string[] {
    const found: string[] = [];
    for (const { object } of this.#leases?.store.peekList(namespace) ?? []) {
      const { metadata, spec } = object as Lease;
      if (metadata?.labels?.[identityLabel] !== identity) continue;
      const endMs = Date.parse(spec?.renewTime ?? "") + (spec?.leaseDurationSeconds ?? 0) * 1_000;
      if (!(endMs >= this.#deps.clock.nowMs())) found.push(metadata.name ?? "");
    }
    return found;
  }

  async #delete(name: string): Promise<void> {
    try {
      await this.#leases?.store.delete(namespace, name, {}, { dryRun: false });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
    }
  }
}

/** Lease name: `apiserver-` and 26 characters derived from the host's name, as upstream. */
export function identityName(hostname: string): string {
  const parts = [hostname, identity].map((text) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
  });
  const digest = createHash("sha256").update(Buffer.concat(parts)).digest().subarray(0, 16);
  return `apiserver-${base32Text(digest)}`;
}

/** Encodes in base32 without padding. */
function base32Text(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => base32[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}
