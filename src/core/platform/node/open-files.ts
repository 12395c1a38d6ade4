/** Reads facts about this process's open files from Linux's /proc; other hosts do not provide them. */
import { readFileSync } from "node:fs";

/** Maximum number of open files. Undefined where the host does not give it, or has no limit. */
export function openFilesMax(): number | undefined {
  const found = /^Max open files\s+(\d+)/m.exec(tryTo(() => procFile("limits")) ?? "");
  return found === null ? undefined : Number(found[1]);
}

export function procFile(name: string): string {
  return readFileSync(`/proc/self/${name}`, "utf8");
}

/** Returns the result of `read`; undefined where the host has no such file. */
export function tryTo<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
