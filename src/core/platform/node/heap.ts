/**
 * How the host's garbage collector counts memory off the heap.
 *
 * By default V8 runs a full collection whenever some ten megabytes of off-heap memory were allocated since
 * the last one, regardless of the live size: a store of a gigabyte is traced about twenty times while it
 * is loaded, and twice a second while it fills. Counted into the one limit that grows with the live size,
 * there are a third as many collections. What a collection frees is the same.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";

export const offHeapFlag = "--external-memory-accounted-in-global-limit";

/** For a process that keeps most of its memory off the heap. Call it before that memory is allocated. */
export function countOffHeapWithHeap(): void {
  setFlagsFromString(offHeapFlag);
}

/** Heap size in bytes at which the host ends this process. */
export function heapBytesMax(): number {
  return getHeapStatistics().heap_size_limit;
}
