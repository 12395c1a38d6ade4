/** Things that do not do what they should, for tests that must find it out. */
import type { Disk, DiskFile } from "../disk.ts";

/** Members of `target` but for those in `changes`. */
export function changed<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(from, property) {
      const member: unknown = Reflect.get(property in changes ? changes : from, property, from);
      return typeof member === "function" && !(property in changes) ? member.bind(from) : member;
    },
  });
}

/** A disk whose files are not quite what they were. */
export function withFiles<D extends Disk>(disk: D, change: (file: DiskFile) => DiskFile): D {
  const open: Disk["open"] = async (path, mode) => change(await disk.open(path, mode));
  // Only `open` is replaced; every Disk has it.
  return changed(disk, { open } as Partial<D>);
}

/** Says durable and does not mean it. */
export function lyingFile(file: DiskFile): DiskFile {
  return changed(file, {
    writeDurably: (buffers, position) => file.write(buffers, position),
    writeDurablyAtOnce: (buffers, position) => file.write(buffers, position),
  });
}
