/**
 * How much a plane stores: below what its heap carries, for caches and informers hold objects in it. At the quota
 * creates are refused as stock refuses them at etcd's; what is there may be updated a little further, and deleted.
 */
import type { StateQuota } from "#store/options.ts";

export interface QuotaFlags {
  readonly quotaBackendBytes?: number;
  readonly quotaObjects?: number;
}

/** Heap per object. A pod takes some 17 KB in a plane with controllers and scheduler, including its events and work on it. */
const heapBytesPerObject = 16 * 1024;
/** Heap per stored byte. An object that is parsed and held by informers takes up to four times its bytes. */
const heapBytesPerByte = 8;
/** Minimum with which a bootstrapped plane runs. */
const objectsMin = 2_000;
const bytesMin = 16 * 2 ** 20;

/** Derives the quota from the heap. `heapBytes`: the heap size at which the process would end. */
export function stateQuota(
  { quotaBackendBytes, quotaObjects }: QuotaFlags,
  heapBytes: number,
): StateQuota {
  const keys = Math.floor(heapBytes / heapBytesPerObject);
  const bytes = Math.floor(heapBytes / heapBytesPerByte);
  return {
    keysMax: quotaObjects ?? Math.max(objectsMin, keys),
    bytesMax: quotaBackendBytes ?? Math.max(bytesMin, bytes),
  };
}
