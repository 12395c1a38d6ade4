/**
 * A disk in memory that crashes as disks do. `Disk` promises only what was synced; this one holds
 * the caller to it.
 *
 * A write is visible at once, but survives a crash only if a `sync` followed it; else it is lost, torn and
 * reordered (disk-inode.ts), as are changes of names (disk-names.ts). Operations go in steps, at each of
 * which the world may stop (disk-steps.ts): nothing that waits on this disk then ever goes on.
 * `survivor()` is the disk after a power cut; `inherited()` the disk after only the process ended,
 * which leaves what was written but not synced to be read, and to be lost by a later power cut.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { FakeRandom } from "./random.ts";
import type { Disk, DiskFile, DiskLock } from "../disk.ts";
import { diskError, inUse } from "./disk-error.ts";
import { FakeFile } from "./disk-file.ts";
import { type Damage, Inode, survivingInode } from "./disk-inode.ts";
import { Directories, Directory } from "./disk-names.ts";
import { DiskSteps, type DiskOperation } from "./disk-steps.ts";

export class FakeDisk implements Disk {
  readonly #random: FakeRandom;
  readonly #world: DiskSteps;
  #directories = new Directories();
  readonly #locks = new Set<string>();
  /** Directories locked for reading, each as many times as it is locked. */
  readonly #readers: string[] = [];
  #capacityBytes: number | undefined;
  /** Damage done by the power cut that this disk survived. */
  readonly damage: Damage = { kept: 0, lost: 0, torn: 0 };

  constructor(seed: number) {
    this.#random = new FakeRandom(seed);
    this.#world = new DiskSteps(this.#random);
  }

  /** Number of steps done so far; a crash can be put at each. */
  get steps(): number {
    return this.#world.done;
  }

  /** Resolves when the requested crash has happened. */
  get crashed(): Promise<void> {
    return this.#world.crashed;
  }

  crashAfter(steps: number): void {
    this.#world.crashAfter(steps);
  }

  /** Crashes the disk now. */
  crash(): void {
    this.#world.crash();
  }

  /** Lets `operation` fail once with `code`, from its `skip`-th next call on. */
  fail(operation: DiskOperation, code: string, skip: number = 0): void {
    this.#world.fail({ operation, code, left: skip });
  }

  /** Sets the bytes that all files may take; beyond it writes fail with ENOSPC. Undefined: no limit. */
  setCapacity(bytes: number | undefined): void {
    this.#capacityBytes = bytes;
  }

  /** Number of bytes that the files take. */
  get takenBytes(): number {
    return this.#directories.takenBytes;
  }

  /** Drops the faults that have not happened yet. */
  heal(): void {
    this.#world.heal();
  }

  /** Makes each step wait for the promise of `pace`: a slow disk. Undefined: as fast as microtasks. */
  setPace(pace: (() => Promise<void> | undefined) | undefined): void {
    this.#world.setPace(pace);
  }

  /** Returns the disk that another process finds after this one was killed: all written data, durable or not. */
  inherited(): FakeDisk {
    this.crash();
    const next = new FakeDisk(this.#random.next32());
    next.#directories = this.#directories;
    next.#capacityBytes = this.#capacityBytes;
    return next;
  }

  /** Returns the disk that another process would find after a power cut now. This disk is dead from here on. */
  survivor(): FakeDisk {
    this.crash();
    const next = new FakeDisk(this.#random.next32());
    next.#capacityBytes = this.#capacityBytes;
    const fate = {
      random: this.#random,
      luck: this.#random.pick([0, 0.1, 0.5, 0.9, 1]),
      damage: next.damage,
    };
    const survived = new Map<Inode, Inode>();
    for (const [path, directory] of this.#directories.byPath) {
      const names = directory.surviving(this.#random);
      for (const [name, inode] of names) {
        const kept = survived.get(inode) ?? survivingInode(inode, fate);
        survived.set(inode, kept);
        names.set(name, kept);
      }
      next.#directories.byPath.set(path, new Directory(names));
    }
    return next;
  }

  /** Sets a function that is called before each step has any effect; it may crash the disk there. */
  watchSteps(onStep: () => void): void {
    this.#world.watch(onStep);
  }

  /** Returns the bytes of a file as a read would return them now. */
  peek(path: string): Uint8Array {
    const inode = this.#directories.find(path);
    return inode.live.slice(0, inode.size);
  }

  /** Changes stored bytes silently: bit rot. */
  corrupt(path: string, offset: number, mask: number): void {
    const inode = this.#directories.find(path);
    for (const bytes of [inode.live, inode.durable]) {
      if (offset < bytes.length) bytes[offset] = (bytes[offset] as number) ^ mask;
    }
  }

  /** Truncates a file silently. */
  cut(path: string, size: number): void {
    const inode = this.#directories.find(path);
    inode.size = Math.min(inode.size, size);
    inode.durable = inode.durable.slice(0, size);
  }

  async open(path: string, mode: "create" | "write" | "read"): Promise<DiskFile> {
    await this.#world.step("open", path);
    const { directory, name } = this.#directories.split(path);
    const found = directory.live.get(name);
    if (mode === "create") {
      if (found !== undefined) throw diskError("open", path, "EEXIST");
      const inode = new Inode();
      directory.change([{ name, inode }]);
      return this.#file(path, inode);
    }
    if (found === undefined) throw diskError("open", path, "ENOENT");
    return this.#file(path, found);
  }

  async list(directory: string): Promise<readonly string[]> {
    await this.#world.step("read", directory);
    const found = this.#directories.byPath.get(directory);
    if (found === undefined) throw diskError("list", directory, "ENOENT");
    return [...found.live.keys()].toSorted();
  }

  async makeDirectory(directory: string): Promise<void> {
    await this.#world.step("open", directory);
    const { byPath } = this.#directories;
    if (!byPath.has(directory)) byPath.set(directory, new Directory());
  }

  async rename(source: string, target: string): Promise<void> {
    await this.#world.step("rename", source);
    const from = this.#directories.split(source);
    const to = this.#directories.split(target);
    if (from.directory !== to.directory) throw diskError("rename", source, "EXDEV");
    const inode = this.#directories.find(source);
    from.directory.change([
      { name: from.name, inode: undefined },
      { name: to.name, inode },
    ]);
  }

  async remove(path: string): Promise<void> {
    await this.#world.step("remove", path);
    this.#directories.find(path);
    const { directory, name } = this.#directories.split(path);
    directory.change([{ name, inode: undefined }]);
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#world.step("sync", path);
    const directory = this.#directories.byPath.get(path);
    if (directory === undefined) throw diskError("sync", path, "ENOENT");
    directory.sync();
    await this.#world.step(undefined, path);
  }

  async freeBytes(directory: string): Promise<number> {
    await this.#world.step("read", directory);
    return (this.#capacityBytes ?? 2 ** 40) - this.takenBytes;
  }

  // Runs at once, by microtasks only: a real disk's threads would make runs of one seed differ.

  async pack(bytes: Uint8Array): Promise<Uint8Array> {
    await this.#world.step(undefined, "");
    return deflateRawSync(bytes, { level: 1 });
  }

  async unpack(packed: Uint8Array, bytesMax: number): Promise<Uint8Array> {
    await this.#world.step(undefined, "");
    try {
      return inflateRawSync(packed, { maxOutputLength: bytesMax });
    } catch {
      throw diskError("unpack", "", "EUNPACK");
    }
  }

  async lock(directory: string): Promise<DiskLock> {
    await this.#world.step("open", directory);
    if (this.#locks.has(directory) || this.#readers.includes(directory)) throw inUse(directory);
    this.#locks.add(directory);
    return {
      release: () => {
        this.#locks.delete(directory);
        return Promise.resolve();
      },
    };
  }

  async lockForReading(directory: string): Promise<DiskLock> {
    await this.#world.step("open", directory);
    if (this.#locks.has(directory)) throw inUse(directory);
    this.#readers.push(directory);
    return {
      release: () => {
        this.#readers.splice(this.#readers.indexOf(directory), 1);
        return Promise.resolve();
      },
    };
  }

  #file(path: string, inode: Inode): DiskFile {
    return new FakeFile({ steps: this.#world, reserve: this.#reserve }, path, inode);
  }

  readonly #reserve = (path: string, moreBytes: number): void => {
    const bytesMax = this.#capacityBytes;
    if (bytesMax === undefined || this.takenBytes + moreBytes <= bytesMax) return;
    throw diskError("write", path, "ENOSPC");
  };
}
