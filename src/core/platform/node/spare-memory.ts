/**
 * V8's collector and glibc's allocator, asked to let go. docs/adr/0015.
 *
 * The collection is the one that `vm.measureMemory` begins: V8's own, incremental and concurrent, where
 * `gc()` and the inspector would stop the loop for all of it. Each page is compacted in it, so that those
 * that are left half empty are given back. `malloc_trim` is reached through `node:ffi`; where there is no
 * glibc, or Node does not let us, nothing is trimmed. Node calls both experimental: it says so once each,
 * and these warnings are kept from an operator who can do nothing about them.
 */
import { createRequire } from "node:module";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { measureMemory } from "node:vm";
import type { MemoryHost } from "../spare-memory.ts";

const compactFlag = "compact-on-every-full-gc";
/** The part of Node's FFI used here, which has no bundled types yet. */
interface Ffi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { arguments: readonly string[]; return: string }>>,
  ): { readonly functions: Glibc };
}

interface Glibc {
  malloc_trim(pad: bigint): number;
  mallopt(parameter: number, value: number): number;
}

/** Parameter numbers from glibc's malloc.h. */
const mallopt = { trimThreshold: -1, mmapThreshold: -3, mmapMax: -4 } as const;
/**
 * Blocks of this size are mapped by themselves, and unmapped when they are freed. It is glibc's default, but
 * a default grows to 32 MB with the first such block that is freed. More than a socket reads at once.
 */
const mappedBytesMin = 128 * 1024;
/** Half of the maps that Linux allows a process by default. Further blocks come from the heap, as small ones do. */
const mappedBlocksMax = 32_768;
/** Free bytes that each heap of the allocator (one per thread of V8, too) keeps at its end. A default grows to 64 MB. */
const keptBytesMax = 2 ** 20;

let glibc: Glibc | undefined | "unopened" = "unopened";

export const nodeMemory: MemoryHost = {
  residentBytes: () => process.memoryUsage.rss(),
  freeBytes() {
    const { rss, heapTotal, external } = process.memoryUsage();
    return rss - heapTotal - external;
  },
  heapBytes: () => getHeapStatistics().used_heap_size,
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  async collectInSteps(compact) {
    if (compact) setFlagsFromString(`--${compactFlag}`);
    try {
      await silently(() => measureMemory({ mode: "summary", execution: "default" }));
    } catch {
      // Another context may have ended by now; the garbage has been collected all the same.
    } finally {
      setFlagsFromString(`--no-${compactFlag}`);
    }
  },
  trim() {
    openGlibc()?.malloc_trim(0n);
  },
};

/**
 * From now on, the allocator keeps less of what is freed for the next who asks. Once, at the start of a process:
 * what was allocated before is not moved.
 *
 * Price: a block that is mapped takes 0.7 ms of the system's time per MB, where one that is used again takes 0.03.
 * A write to a plane costs 0.8 ms and some KB; `pilothouse store`, where a write costs 11 us, must not pay for it.
 */
export function keepLittleFreeMemory(): void {
  const opened = openGlibc();
  opened?.mallopt(mallopt.mmapThreshold, mappedBytesMin);
  opened?.mallopt(mallopt.mmapMax, mappedBlocksMax);
  opened?.mallopt(mallopt.trimThreshold, keptBytesMax);
}

function openGlibc(): Glibc | undefined {
  if (glibc === "unopened") glibc = process.platform === "linux" ? loadGlibc() : undefined;
  return glibc;
}

function loadGlibc(): Glibc | undefined {
  const int32 = "int32";
  try {
    const ffi = silently(() => createRequire(import.meta.url)("node:ffi") as Ffi);
    const functions = {
      malloc_trim: { arguments: ["uint64"], return: int32 },
      mallopt: { arguments: [int32, int32], return: int32 },
    };
    return silently(() => ffi.dlopen("libc.so.6", functions)).functions;
  } catch {
    return undefined;
  }
}

/** Runs `f` without the warnings that it causes before it returns. */
function silently<Result>(f: () => Result): Result {
  const emitWarning: unknown = Reflect.get(process, "emitWarning");
  Reflect.set(process, "emitWarning", () => {});
  try {
    return f();
  } finally {
    Reflect.set(process, "emitWarning", emitWarning);
  }
}
