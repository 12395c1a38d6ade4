/**
 * Directories of the fake disk: a name that was made, renamed or removed survives a power cut once its
 * directory was synced; else the latest such changes may be undone.
 */
import type { FakeRandom } from "./random.ts";
import { diskError } from "./disk-error.ts";
import { Inode } from "./disk-inode.ts";

interface NameChange {
  readonly name: string;
  /** Undefined: the name was removed. */
  readonly inode: Inode | undefined;
}

export class Directory {
  readonly live: Map<string, Inode>;
  readonly #durable: Map<string, Inode>;
  /** Changes that are not durable, in order. A rename is two changes that survive together. */
  #pending: (readonly NameChange[])[] = [];

  /** `names`: names that are durable. */
  constructor(names: ReadonlyMap<string, Inode> = new Map()) {
    this.live = new Map(names);
    this.#durable = new Map(names);
  }

  change(changes: readonly NameChange[]): void {
    applyNames(this.live, changes);
    this.#pending.push(changes);
  }

  sync(): void {
    for (const changes of this.#pending) applyNames(this.#durable, changes);
    this.#pending = [];
  }

  /** Returns the names that a power cut leaves. */
  surviving(random: FakeRandom): Map<string, Inode> {
    const names = new Map(this.#durable);
    const kept = random.below(this.#pending.length + 1);
    for (const changes of this.#pending.slice(0, kept)) applyNames(names, changes);
    return names;
  }
}

function applyNames(names: Map<string, Inode>, changes: readonly NameChange[]): void {
  for (const { name, inode } of changes) {
    if (inode === undefined) names.delete(name);
    else names.set(name, inode);
  }
}

/** The directories of a disk, which find files by path. */
export class Directories {
  readonly byPath = new Map<string, Directory>();

  /** Number of bytes that all files take. */
  get takenBytes(): number {
    let taken = 0;
    for (const { live } of this.byPath.values()) {
      for (const inode of live.values()) taken += inode.size;
    }
    return taken;
  }

  split(path: string): { directory: Directory; name: string } {
    const cut = path.lastIndexOf("/");
    const directory = this.byPath.get(path.slice(0, cut));
    if (directory === undefined) throw diskError("find", path, "ENOENT");
    return { directory, name: path.slice(cut + 1) };
  }

  find(path: string): Inode {
    const { directory, name } = this.split(path);
    const inode = directory.live.get(name);
    if (inode === undefined) throw diskError("find", path, "ENOENT");
    return inode;
  }
}
