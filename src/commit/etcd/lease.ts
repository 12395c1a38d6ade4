/**
 * The Lease service. An answer that a lease exists, or has ended, is durable. Remaining time is in
 * whole seconds, rounded down. The shortest lease is etcd's: one and a half election timeouts, two seconds.
 */
import { StoreStoppedError, type FullStore } from "#store/full-store.ts";
import type { LeaseId } from "#store/store.ts";
import type { Random } from "#platform/random.ts";
import * as m from "#wire/etcd-messages.ts";
import { prefixBytes } from "#wire/grpc.ts";
import type { Alarms } from "./alarms.ts";
import { confirmed } from "./confirmed.ts";
import { stream, unary, type Method, type ServerStream, type StreamEnd } from "./call.ts";
import type { Identity } from "./identity.ts";
import { etcdError } from "./rpc-error.ts";

const leastTtlSeconds = 2;
/** etcd's limit: about 285 years. */
const mostTtlSeconds = 9_000_000_000;

interface LeaseDeps {
  readonly store: FullStore;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly identity: Identity;
}

export class LeaseService {
  readonly #deps: LeaseDeps;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  methods(): Readonly<Record<string, Method>> {
    return {
      LeaseGrant: unary(m.leaseGrantRequest, m.leaseGrantResponse, (request) =>
        this.#grant(request.id, request.ttl),
      ),
      LeaseRevoke: unary(m.leaseRevokeRequest, m.headerResponse, ({ id }) => this.#revoke(id)),
      LeaseKeepAlive: stream((call) => this.#keepAlive(call)),
      LeaseTimeToLive: unary(m.leaseTimeToLiveRequest, m.leaseTimeToLiveResponse, (request) =>
        this.#timeToLive(request.id, request.keys),
      ),
      LeaseLeases: unary(m.empty, m.leaseLeasesResponse, () => this.#list()),
    };
  }

  async #grant(wanted: bigint, ttl: number): Promise<m.Of<typeof m.leaseGrantResponse>> {
    const { store, alarms } = this.#deps;
    if (ttl > mostTtlSeconds) throw etcdError("leaseTtlTooLarge");
    alarms.checkSpace();
    const granted = Math.max(ttl, leastTtlSeconds);
    const id = (wanted === 0n ? this.#newId() : wanted) as LeaseId;
    const made = await store.grantLeaseAs(id, granted).catch((error: unknown) => {
      if (error instanceof StoreStoppedError) throw etcdError("stopped");
      throw etcdError(store.lease(id) ? "leaseExists" : "tooManyRequests");
    });
    if (!made) throw etcdError("leaseExists");
    return { header: this.#header(), id, ttl: granted, error: "" };
  }

  async #revoke(id: bigint): Promise<{ readonly header: m.Header }> {
    this.#deps.alarms.checkWhole();
    const there = await this.#deps.store.revokeLease(id as LeaseId).catch(stopped);
    if (!there) throw etcdError("leaseNotFound");
    return { header: this.#header() };
  }

  #keepAlive(call: ServerStream): StreamEnd {
    return {
      message: (bytes) => {
        const { id } = m.leaseKeepAliveRequest.decode(bytes);
        // Read before renewing, so that the header's revision is not above what the renewal saw.
        const header = this.#header();
        const alive = this.#deps.store.renewLease(id as LeaseId);
        const ttlMs = this.#deps.store.lease(id as LeaseId)?.ttlMs ?? 0;
        if (!alive) void this.#sendGone(call, id);
        else if (this.#deps.store.latest === undefined) sendAlive(call, { header, id, ttlMs });
        else void this.#sendConfirmed(call, { header, id, ttlMs });
      },
      halfClosed: () => call.end(),
      closed: () => undefined,
    };
  }

  /** A deposed process could renew a lease that has ended elsewhere. */
  async #sendConfirmed(call: ServerStream, alive: Alive): Promise<void> {
    try {
      await confirmed(this.#deps.store);
      sendAlive(call, alive);
    } catch (error) {
      call.fail(error);
    }
  }

  /** Reports the lease's end only once it is durable; a stopped store never reports it. */
  async #sendGone(call: ServerStream, id: bigint): Promise<void> {
    try {
      await this.#settled();
      sendAlive(call, { header: this.#header(), id, ttlMs: 0 });
    } catch (error) {
      call.fail(error);
    }
  }

  async #timeToLive(id: bigint, keys: boolean): Promise<m.Of<typeof m.leaseTimeToLiveResponse>> {
    const { store } = this.#deps;
    const lease = store.lease(id as LeaseId);
    const attached = keys && lease !== undefined ? store.leaseKeys(id as LeaseId) : [];
    await this.#settled();
    return {
      header: this.#header(),
      id,
      ttl: lease === undefined ? -1 : Math.floor(lease.remainingMs / 1000),
      grantedTtl: Math.ceil((lease?.ttlMs ?? 0) / 1000),
      keys: attached,
    };
  }

  /** Lists leases, those that end first before the others. */
  async #list(): Promise<m.Of<typeof m.leaseLeasesResponse>> {
    const leases = this.#deps.store.leases().toSorted((a, b) => a.remainingMs - b.remainingMs);
    await this.#settled();
    return { header: this.#header(), leases: leases.map(({ id }) => ({ id })) };
  }

  /** Resolves when everything read of leases is durable and this process still holds the log. */
  async #settled(): Promise<void> {
    await this.#deps.store.settled().catch(stopped);
    await confirmed(this.#deps.store);
  }

  #header(): m.Header {
    return this.#deps.identity.header(this.#deps.store.commitRevision);
  }

  /** A positive id, so that every client shows it the same. */
  #newId(): bigint {
    for (;;) {
      const bytes = this.#deps.random.bytes(8);
      const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
      const id = view.getBigUint64(0) & 0x7fff_ffff_ffff_ffffn;
      if (id !== 0n && this.#deps.store.lease(id as LeaseId) === undefined) return id;
    }
  }
}

interface Alive {
  readonly header: m.Header;
  readonly id: bigint;
  readonly ttlMs: number;
}

function sendAlive(call: ServerStream, { header, id, ttlMs }: Alive): void {
  const response = { header, id, ttl: Math.ceil(ttlMs / 1000) };
  call.send(m.leaseKeepAliveResponse.encode(response, prefixBytes));
}

function stopped(error: unknown): never {
  throw error instanceof StoreStoppedError ? etcdError("stopped") : error;
}
