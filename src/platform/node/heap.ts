/**
 * How the host's garbage collector counts memory off the heap.
 *
 * By itself V8 collects all garbage whenever some ten megabytes came to be off the heap since the last
 * time, however much is there already: a store of a gigabyte looks through its million keys about
 * twenty times while it is read, and twice a second while it fills. Counted into the one limit that
 * grows with what is live, that is a third of the times. What a collection frees is the same.
 */
import { setFlagsFromString } from "node:v8";

export const offHeapFlag = "--external-memory-accounted-in-global-limit";

/** For a process that keeps most of its memory off the heap; before it takes any. */
export function countOffHeapWithHeap(): void {
  setFlagsFromString(offHeapFlag);
}
