/**
 * Registers the API servers that serve one storage: an Endpoints object per address under a lease of 15 seconds. It is
 * no served kind: a stock etcd has the keys as `/registry/masterleases/<ip>`.
 *
 * After  k/k pkg/controlplane/reconcilers/lease.go.
 */
import type { Endpoints } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { internalError } from "#api/status.ts";
import { decodeObject, encodeObject } from "#forms/object-bytes.ts";
import type { Key, Store } from "#store/store.ts";
import { resourcePrefix, resourceRange, storeKey } from "./keys.ts";

const prefix = resourcePrefix({ group: "", resource: "masterleases" });
const leaseSeconds = 15;

export class MasterLeases {
  readonly #store: Store;
  #generation = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Addresses with an active lease, sorted. */
  addresses(): readonly string[] {
    const found = this.#store.range(resourceRange(prefix));
    if (found.kind !== "ok") return [];
    const all = found.kvs.map(({ value }) => {
      const { subsets = [] } = decodeObject(value, 0) as Endpoints;
      return subsets[0]?.addresses?.[0]?.ip ?? "";
    });
    return [...new Set(all)].filter((ip) => ip !== "").toSorted();
  }

  /** Rejects when the storage refuses. */
  async renew(ip: string): Promise<void> {
    const lease = await this.#store.grantLease(leaseSeconds);
    this.#generation++;
    const endpoints = {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { generation: this.#generation },
      subsets: [{ addresses: [{ ip }] }],
    } as AnyObject;
    const result = await this.#store.put(keyOf(ip), encodeObject(endpoints), { lease });
    if (result.kind !== "committed") throw internalError(`master lease: ${result.kind}`);
  }

  async remove(ip: string): Promise<void> {
    await this.#store.delete(keyOf(ip), {});
  }
}

function keyOf(ip: string): Key {
  return storeKey(prefix, ip);
}
