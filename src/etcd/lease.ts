/**
 * The Lease service. Time to live is told in whole seconds, rounded down; the least that is granted
 * is etcd's: one and a half election timeouts, two seconds.
 */
import type { FullStore } from "#store/embedded.ts";
import type { LeaseId } from "#store/store.ts";
import type { Random } from "#platform/random.ts";
import * as m from "#wire/etcd-messages.ts";
import { prefixBytes } from "#wire/grpc.ts";
import type { Alarms } from "./alarms.ts";
import { stream, unary, type Method, type ServerStream, type StreamEnd } from "./call.ts";
import type { Identity } from "./identity.ts";
import { etcdError } from "./rpc-error.ts";

const leastTtlSeconds = 2;
/** etcd's limit: about 285 years. */
const mostTtlSeconds = 9_000_000_000;

export interface LeaseDeps {
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
    const made = await store.grantLeaseAs(id, granted).catch(() => undefined);
    if (made === undefined) throw etcdError(store.lease(id) ? "leaseExists" : "tooManyRequests");
    if (!made) throw etcdError("leaseExists");
    return { header: this.#header(), id, ttl: granted, error: "" };
  }

  async #revoke(id: bigint): Promise<{ readonly header: m.Header }> {
    if (!(await this.#deps.store.revokeLease(id as LeaseId))) throw etcdError("leaseNotFound");
    return { header: this.#header() };
  }

  #keepAlive(call: ServerStream): StreamEnd {
    return {
      message: (bytes) => {
        const { id } = m.leaseKeepAliveRequest.decode(bytes);
        // Read before renewing, so that it is not above what the renewal saw.
        const header = this.#header();
        const alive = this.#deps.store.renewLease(id as LeaseId);
        const ttlMs = alive ? (this.#deps.store.lease(id as LeaseId)?.ttlMs ?? 0) : 0;
        const response = { header, id, ttl: Math.ceil(ttlMs / 1000) };
        call.send(m.leaseKeepAliveResponse.encode(response, prefixBytes));
      },
      halfClosed: () => call.end(),
      closed: () => undefined,
    };
  }

  #timeToLive(id: bigint, keys: boolean): m.Of<typeof m.leaseTimeToLiveResponse> {
    const { store } = this.#deps;
    const lease = store.lease(id as LeaseId);
    const header = this.#header();
    if (lease === undefined) return { header, id, ttl: -1, grantedTtl: 0, keys: [] };
    return {
      header,
      id,
      ttl: Math.floor(lease.remainingMs / 1000),
      grantedTtl: Math.ceil(lease.ttlMs / 1000),
      keys: keys ? store.leaseKeys(id as LeaseId) : [],
    };
  }

  /** Those that end first come first. */
  #list(): m.Of<typeof m.leaseLeasesResponse> {
    const leases = this.#deps.store.leases().toSorted((a, b) => a.remainingMs - b.remainingMs);
    return { header: this.#header(), leases: leases.map(({ id }) => ({ id })) };
  }

  #header(): m.Header {
    return this.#deps.identity.header(this.#deps.store.commitRevision);
  }

  /** Positive, so that every client's int64 shows it the same. */
  #newId(): bigint {
    for (;;) {
      const bytes = this.#deps.random.bytes(8);
      const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
      const id = view.getBigUint64(0) & 0x7fff_ffff_ffff_ffffn;
      if (id !== 0n && this.#deps.store.lease(id as LeaseId) === undefined) return id;
    }
  }
}
