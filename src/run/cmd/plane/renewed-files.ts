/**
 * Files that an operator replaces while the process runs: read again when they have changed.
 *
 * Holds  a set of files that cannot be read or used as it is now (half written) is not taken: what was read last
 *        goes on, and the files are looked at again.
 * Cost   a look at the files' times when asked, at most once in `lookEveryMs`.
 */
import { statSync } from "node:fs";
import type { Clock } from "#platform/clock.ts";

/** Interval between two checks of the files. Upstream's reloads take from a second to five minutes. */
const lookEveryMs = 5_000;

interface Renewed<T> {
  readonly paths: readonly string[];
  readonly first: T;
  /** Throws when the files cannot be used. */
  readonly read: () => T;
}

export function renewedFiles<T>(clock: Clock, { paths, first, read }: Renewed<T>): () => T {
  let value = first;
  let seen = stampOf(paths);
  let lookMs = clock.nowMs() + lookEveryMs;
  return () => {
    const nowMs = clock.nowMs();
    if (nowMs < lookMs) return value;
    lookMs = nowMs + lookEveryMs;
    const stamp = stampOf(paths);
    if (stamp === seen) return value;
    try {
      value = read();
      seen = stamp;
    } catch {
      // Unusable files are checked again later. A start with them would be refused with their name.
    }
    return value;
  };
}

/** Returns a text that changes with each replacement, because a replaced file has another inode. */
function stampOf(paths: readonly string[]): string {
  return paths.map(stampOfOne).join(";");
}

function stampOfOne(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino}.${stat.size}.${stat.mtimeNs}`;
}
