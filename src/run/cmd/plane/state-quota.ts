/**
 * How much a plane stores: below what its heap carries, for caches and informers hold objects in it. At the quota
 * creates are refused as stock refuses them at etcd's; what is there may be updated a little further, and deleted.
 */
import type { StateQuota } from "#store/options.ts";

export interface QuotaFlags {
  readonly quotaBackendBytes?: number;
  readonly quotaObjects?: number;
}

/** A pod costs some 17 KB of a plane that also runs controllers and scheduler, with its events and the work on it. */
const heapBytesPerObject = 16 * 1024;
/** Parsed, and held by informers, an object takes up to four times its bytes. */
const heapBytesPerByte = 8;
/** The smallest that a bootstrapped plane runs with. */
const objectsMin = 2_000;
const bytesMin = 16 * 2 ** 20;

/** `heapBytes`: at which the process would end. */
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
