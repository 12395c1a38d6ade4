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
import { setFlagsFromString } from "node:v8";
import { measureMemory } from "node:vm";
import type { MemoryHost } from "../spare-memory.ts";

const compactFlag = "compact-on-every-full-gc";
/** Not bundled with types yet. */
interface Ffi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { arguments: readonly string[]; return: string }>>,
  ): { readonly functions: { malloc_trim(pad: bigint): number } };
}

let trimAllocator: (() => void) | undefined;

export const nodeMemory: MemoryHost = {
  residentBytes: () => process.memoryUsage.rss(),
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  async collectInSteps(compact) {
    if (compact) setFlagsFromString(`--${compactFlag}`);
    try {
      await silently(() => measureMemory({ mode: "summary", execution: "default" }));
    } catch {
      // Another context may be gone by now: what was collected is.
    } finally {
      setFlagsFromString(`--no-${compactFlag}`);
    }
  },
  trim() {
    trimAllocator ??= openTrim();
    trimAllocator();
  },
};

function openTrim(): () => void {
  const nothing = (): void => {};
  if (process.platform !== "linux") return nothing;
  try {
    const ffi = silently(() => createRequire(import.meta.url)("node:ffi") as Ffi);
    const size = { arguments: ["uint64"], return: "int32" };
    const { functions } = silently(() => ffi.dlopen("libc.so.6", { malloc_trim: size }));
    return () => {
      functions.malloc_trim(0n);
    };
  } catch {
    return nothing;
  }
}

/** Without the warnings that `f` causes before it returns. */
function silently<Result>(f: () => Result): Result {
  const emitWarning: unknown = Reflect.get(process, "emitWarning");
  Reflect.set(process, "emitWarning", () => {});
  try {
    return f();
  } finally {
    Reflect.set(process, "emitWarning", emitWarning);
  }
}
