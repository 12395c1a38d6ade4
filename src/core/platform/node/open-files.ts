/** What Linux's /proc tells of this process's open files; other hosts do not tell. */
import { readFileSync } from "node:fs";

/** So many may be open at once. Undefined where the host does not tell, or has no limit. */
export function openFilesMax(): number | undefined {
  const found = /^Max open files\s+(\d+)/m.exec(tryTo(() => procFile("limits")) ?? "");
  return found === null ? undefined : Number(found[1]);
}

export function procFile(name: string): string {
  return readFileSync(`/proc/self/${name}`, "utf8");
}

/** Undefined where the host has no such file. */
export function tryTo<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
