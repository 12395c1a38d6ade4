/** Objects that do not do what they should, for tests that must detect it. */
import type { Disk, DiskFile } from "../disk.ts";

/** Returns `target` with the members in `changes` replaced. */
export function changed<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(from, property) {
      const member: unknown = Reflect.get(property in changes ? changes : from, property, from);
      return typeof member === "function" && !(property in changes) ? member.bind(from) : member;
    },
  });
}

/** Returns a disk whose files are altered by `change`. */
export function withFiles<D extends Disk>(disk: D, change: (file: DiskFile) => DiskFile): D {
  const open: Disk["open"] = async (path, mode) => change(await disk.open(path, mode));
  // Only `open` is replaced; every Disk has it.
  return changed(disk, { open } as Partial<D>);
}

/** Returns a file whose `sync` reports success without making anything durable. */
export function lyingFile(file: DiskFile): DiskFile {
  return changed(file, {
    writeDurably: (buffers, position) => file.write(buffers, position),
    writeDurablyAtOnce: (buffers, position) => file.write(buffers, position),
  });
}
