/**
 * A disk in memory that crashes as disks do. `Disk` promises only what was synced; this one holds
 * the caller to it.
 *
 * A write is seen at once, but survives a crash only if `sync` came after it; else each 512-byte
 * sector of it survives by chance, so writes are lost, torn and reordered. A created, renamed or
 * removed name survives once its directory was synced; else the latest such changes may be undone.
 * After a failed `sync` what it should have kept is still readable, but a later sync does not keep
 * it either (Linux marks such pages clean; see "Can Applications Recover from fsync Failures?").
 *
 * Every operation takes a few microtasks, as the seed decides, and longer if `pace` says so.
 * `crashAfter(n)` stops the world at the n-th step: nothing that waits on this disk ever goes on.
 * `survivor()` is the disk after a power cut; `inherited()` the disk after only the process ended,
 * which leaves what was written but not synced to be read, and to be lost by a later power cut.
 */
import { Prng } from "#base/prng.ts";
import { DiskError } from "#platform/disk.ts";
import type { Disk, DiskFile, DiskLock } from "#platform/disk.ts";

/** Disks write sectors whole; 512 bytes is the least any of them promises. */
const sectorBytes = 512;
const hopsMax = 4;

export type SimOperation = "open" | "write" | "read" | "sync" | "extend" | "rename" | "remove";

interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** A sync failed on it: only luck keeps it. */
  doubtful: boolean;
}

class Inode {
  live: Uint8Array = new Uint8Array(0);
  size = 0;
  durable: Uint8Array = new Uint8Array(0);
  unsynced: Write[] = [];
  /** Syncs that failed so far. */
  failures = 0;
}

/** Hosts tell each descriptor once of a write-back that failed, whichever sync met it. */
interface Descriptor {
  failuresTold: number;
}

interface NameChange {
  readonly name: string;
  /** Undefined: removed. */
  readonly inode: Inode | undefined;
}

interface Directory {
  readonly live: Map<string, Inode>;
  readonly durable: Map<string, Inode>;
  /** In order; a rename is two that survive together. */
  pending: (readonly NameChange[])[];
}

interface Fault {
  readonly operation: SimOperation;
  readonly code: string;
  left: number;
}

/** What a power cut did to the writes that nothing had made durable. */
export interface Damage {
  /** Kept whole, though nobody had synced them. */
  kept: number;
  lost: number;
  /** Some sectors of one write were kept, others not. */
  torn: number;
}

export class SimDisk implements Disk {
  readonly #random: Prng;
  #directories = new Map<string, Directory>();
  readonly #locks = new Set<string>();
  /** Directories locked for reading, as often as they are. */
  readonly #readers: string[] = [];
  readonly #crashed = Promise.withResolvers<void>();
  #faults: Fault[] = [];
  #capacityBytes: number | undefined;
  #stepsLeft = Number.POSITIVE_INFINITY;
  #dead = false;
  #steps = 0;
  #pace: (() => Promise<void> | undefined) | undefined;
  #onStep: () => void = () => undefined;
  /** Done by the power cut that this disk survived. */
  readonly damage: Damage = { kept: 0, lost: 0, torn: 0 };

  constructor(seed: number) {
    this.#random = new Prng(seed);
  }

  /** Steps done so far; a crash can be put at each. */
  get steps(): number {
    return this.#steps;
  }

  /** Resolves when the crash asked for has happened. */
  get crashed(): Promise<void> {
    return this.#crashed.promise;
  }

  crashAfter(steps: number): void {
    this.#stepsLeft = steps;
  }

  /** Stops now. */
  crash(): void {
    this.#dead = true;
    this.#crashed.resolve();
  }

  /** From its `skip`-th next call on, `operation` fails once with `code`. */
  fail(operation: SimOperation, code: string, skip: number = 0): void {
    this.#faults.push({ operation, code, left: skip });
  }

  /** Files may take this much in all, beyond it ENOSPC; undefined: as much as they like. */
  setCapacity(bytes: number | undefined): void {
    this.#capacityBytes = bytes;
  }

  /** What its files take. */
  get takenBytes(): number {
    return this.#takenBytes();
  }

  /** Faults not yet met are forgotten. */
  heal(): void {
    this.#faults = [];
  }

  /** Each step waits for what `pace` returns: a slow disk. Undefined: as fast as microtasks. */
  setPace(pace: (() => Promise<void> | undefined) | undefined): void {
    this.#pace = pace;
  }

  /** What another process finds once this one was killed: all that was written, durable or not. */
  inherited(): SimDisk {
    this.crash();
    const next = new SimDisk(this.#random.next32());
    next.#directories = this.#directories;
    next.#capacityBytes = this.#capacityBytes;
    return next;
  }

  /** What another process would find after a power cut now. This disk is dead from here on. */
  survivor(): SimDisk {
    this.crash();
    const next = new SimDisk(this.#random.next32());
    next.#capacityBytes = this.#capacityBytes;
    const luck = this.#random.pick([0, 0.1, 0.5, 0.9, 1]);
    const survived = new Map<Inode, Inode>();
    for (const [path, directory] of this.#directories) {
      const names = this.#surviveNames(directory);
      const live = new Map<string, Inode>();
      for (const [name, inode] of names) {
        const kept = survived.get(inode) ?? this.#surviveInode(inode, luck, next.damage);
        survived.set(inode, kept);
        live.set(name, kept);
      }
      next.#directories.set(path, { live, durable: new Map(live), pending: [] });
    }
    return next;
  }

  /** Called before each step has any effect; it may crash the disk there. */
  watchSteps(onStep: () => void): void {
    this.#onStep = onStep;
  }

  /** The bytes of a file as they are read now. */
  peek(path: string): Uint8Array {
    const inode = this.#find(path);
    return inode.live.slice(0, inode.size);
  }

  /** Changes stored bytes behind everybody's back: bit rot. */
  corrupt(path: string, offset: number, mask: number): void {
    const inode = this.#find(path);
    for (const bytes of [inode.live, inode.durable]) {
      if (offset < bytes.length) bytes[offset] = (bytes[offset] as number) ^ mask;
    }
  }

  /** Cuts a file short behind everybody's back. */
  cut(path: string, size: number): void {
    const inode = this.#find(path);
    inode.size = Math.min(inode.size, size);
    inode.durable = inode.durable.slice(0, size);
  }

  async open(path: string, mode: "create" | "write" | "read"): Promise<DiskFile> {
    await this.#step("open", path);
    const { directory, name } = this.#split(path);
    const found = directory.live.get(name);
    if (mode === "create") {
      if (found !== undefined) throw diskError("open", path, "EEXIST");
      const inode = new Inode();
      this.#change(directory, [{ name, inode }]);
      return this.#file(path, inode);
    }
    if (found === undefined) throw diskError("open", path, "ENOENT");
    return this.#file(path, found);
  }

  async list(directory: string): Promise<readonly string[]> {
    await this.#step("read", directory);
    const found = this.#directories.get(directory);
    if (found === undefined) throw diskError("list", directory, "ENOENT");
    return [...found.live.keys()].toSorted();
  }

  async makeDirectory(directory: string): Promise<void> {
    await this.#step("open", directory);
    if (this.#directories.has(directory)) return;
    this.#directories.set(directory, { live: new Map(), durable: new Map(), pending: [] });
  }

  async rename(source: string, target: string): Promise<void> {
    await this.#step("rename", source);
    const from = this.#split(source);
    const to = this.#split(target);
    if (from.directory !== to.directory) throw diskError("rename", source, "EXDEV");
    const inode = this.#find(source);
    this.#change(from.directory, [
      { name: from.name, inode: undefined },
      { name: to.name, inode },
    ]);
  }

  async remove(path: string): Promise<void> {
    await this.#step("remove", path);
    this.#find(path);
    const { directory, name } = this.#split(path);
    this.#change(directory, [{ name, inode: undefined }]);
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#step("sync", path);
    const directory = this.#directories.get(path);
    if (directory === undefined) throw diskError("sync", path, "ENOENT");
    for (const changes of directory.pending) applyNames(directory.durable, changes);
    directory.pending = [];
    await this.#step(undefined, path);
  }

  async freeBytes(directory: string): Promise<number> {
    await this.#step("read", directory);
    return (this.#capacityBytes ?? 2 ** 40) - this.#takenBytes();
  }

  async lock(directory: string): Promise<DiskLock> {
    await this.#step("open", directory);
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
    await this.#step("open", directory);
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
    // As on Linux, where durable writes go through a descriptor of their own.
    const [plain, durably]: [Descriptor, Descriptor] = [
      { failuresTold: inode.failures },
      { failuresTold: inode.failures },
    ];
    return {
      write: async (buffers, position) => {
        const bytes = joined(buffers);
        this.#reserve(path, inode, position + bytes.length);
        // The write is under way from the start: a crash during it may keep parts.
        if (!this.#dead) writeLive(inode, position, bytes);
        await this.#step("write", path);
      },
      read: async (position, length) => {
        await this.#step("read", path);
        // As the host's: no buffer is of such a length.
        if (length < 0) throw new RangeError(`read of ${length} bytes from ${path}`);
        return inode.live.slice(position, Math.min(inode.size, position + length));
      },
      sync: async () => {
        await this.#sync(path, inode, plain, [...inode.unsynced]);
      },
      size: async () => {
        await this.#step("read", path);
        return inode.size;
      },
      truncate: async (size) => {
        await this.#step("write", path);
        truncate(inode, size);
        await this.#sync(path, inode, plain, [...inode.unsynced]);
      },
      writeDurably: (buffers, position) =>
        this.#writeDurably(path, inode, durably, { buffers, position }),
      writeDurablyAtOnce: (buffers, position) => {
        // A slow disk takes time, which passes only while the caller waits.
        if (this.#pace !== undefined)
          return this.#writeDurably(path, inode, durably, { buffers, position });
        const bytes = joined(buffers);
        this.#reserve(path, inode, position + bytes.length);
        const write = this.#dead ? undefined : writeLive(inode, position, bytes);
        // Nothing runs between the steps of it, but a crash or a fault may come at each.
        if (!this.#stepAtOnce("write", path) || write === undefined) return never();
        const covered = overlapping(inode, write);
        return this.#syncAtOnce(path, inode, durably, covered) ? undefined : never();
      },
      extend: async (size) => {
        this.#reserve(path, inode, size);
        if (!this.#dead && size > inode.size) {
          writeLive(inode, inode.size, new Uint8Array(size - inode.size));
        }
        await this.#step("extend", path);
      },
      close: () => Promise.resolve(),
    };
  }

  async #writeDurably(
    path: string,
    inode: Inode,
    descriptor: Descriptor,
    { buffers, position }: { readonly buffers: readonly Uint8Array[]; readonly position: number },
  ): Promise<void> {
    const bytes = joined(buffers);
    this.#reserve(path, inode, position + bytes.length);
    const write = this.#dead ? undefined : writeLive(inode, position, bytes);
    await this.#step("write", path);
    if (write !== undefined) await this.#sync(path, inode, descriptor, overlapping(inode, write));
  }

  async #sync(
    path: string,
    inode: Inode,
    descriptor: Descriptor,
    covered: readonly Write[],
  ): Promise<void> {
    try {
      await this.#step("sync", path);
    } catch (error) {
      doubt(inode, descriptor, covered);
      throw error;
    }
    keep(inode, covered);
    tellFailure(path, inode, descriptor);
    await this.#step(undefined, path);
  }

  /** @returns whether the world goes on. */
  #syncAtOnce(
    path: string,
    inode: Inode,
    descriptor: Descriptor,
    covered: readonly Write[],
  ): boolean {
    try {
      if (!this.#stepAtOnce("sync", path)) return false;
    } catch (error) {
      doubt(inode, descriptor, covered);
      throw error;
    }
    keep(inode, covered);
    tellFailure(path, inode, descriptor);
    return this.#stepAtOnce(undefined, path);
  }

  /** One step of the world: may crash, may fail, takes a few microtasks. */
  async #step(operation: SimOperation | undefined, path: string): Promise<void> {
    for (let hops = this.#random.below(hopsMax); hops > 0; hops--) await Promise.resolve();
    const waiting = this.#dead ? undefined : this.#pace?.();
    if (waiting !== undefined) await waiting;
    if (!this.#stepAtOnce(operation, path)) await never();
  }

  /** @returns whether the world goes on. */
  #stepAtOnce(operation: SimOperation | undefined, path: string): boolean {
    this.#steps++;
    if (--this.#stepsLeft < 0) this.crash();
    if (!this.#dead) this.#onStep();
    if (this.#dead) return false;
    const fault = this.#faults.find((f) => f.operation === operation && f.left-- <= 0);
    if (fault === undefined) return true;
    this.#faults = this.#faults.filter((f) => f !== fault);
    throw diskError(fault.operation, path, fault.code);
  }

  #reserve(path: string, inode: Inode, size: number): void {
    const more = Math.max(0, size - inode.size);
    if (this.#capacityBytes !== undefined && this.#takenBytes() + more > this.#capacityBytes) {
      throw diskError("write", path, "ENOSPC");
    }
  }

  #takenBytes(): number {
    let taken = 0;
    for (const { live } of this.#directories.values()) {
      for (const inode of live.values()) taken += inode.size;
    }
    return taken;
  }

  #change(directory: Directory, changes: readonly NameChange[]): void {
    applyNames(directory.live, changes);
    directory.pending.push(changes);
  }

  #split(path: string): { directory: Directory; name: string } {
    const cut = path.lastIndexOf("/");
    const directory = this.#directories.get(path.slice(0, cut));
    if (directory === undefined) throw diskError("find", path, "ENOENT");
    return { directory, name: path.slice(cut + 1) };
  }

  #find(path: string): Inode {
    const { directory, name } = this.#split(path);
    const inode = directory.live.get(name);
    if (inode === undefined) throw diskError("find", path, "ENOENT");
    return inode;
  }

  #surviveNames(directory: Directory): Map<string, Inode> {
    const names = new Map(directory.durable);
    const kept = this.#random.below(directory.pending.length + 1);
    for (const changes of directory.pending.slice(0, kept)) applyNames(names, changes);
    return names;
  }

  #surviveInode(inode: Inode, luck: number, damage: Damage): Inode {
    for (const write of inode.unsynced) {
      const fates = new Set<boolean>();
      applyWrite(inode, write, () => {
        const keeps = this.#random.chance(luck);
        fates.add(keeps);
        return keeps;
      });
      damage[fates.size > 1 ? "torn" : fates.has(true) ? "kept" : "lost"]++;
    }
    const kept = new Inode();
    kept.durable = inode.durable.slice();
    kept.live = inode.durable.slice();
    kept.size = kept.live.length;
    return kept;
  }
}

/** What waits for a disk that is dead. */
function never(): Promise<never> {
  return new Promise<never>(() => {});
}

/** What a sync has covered is durable, unless one before failed on it. */
function keep(inode: Inode, covered: readonly Write[]): void {
  for (const write of covered) {
    const { doubtful, offset, bytes } = write;
    if (doubtful) continue;
    inode.durable = fitted(inode.durable, offset + bytes.length);
    inode.durable.set(bytes, offset);
    overlay(inode, write);
  }
  inode.unsynced = inode.unsynced.filter((write) => write.doubtful || !covered.includes(write));
}

/** A page that was written over holds the new bytes: what was there before cannot come back. */
function overlay(inode: Inode, { offset, bytes }: Write): void {
  for (const older of inode.unsynced) {
    if (!older.doubtful) continue;
    const start = Math.max(offset, older.offset);
    const end = Math.min(offset + bytes.length, older.offset + older.bytes.length);
    if (start >= end) continue;
    older.bytes.set(bytes.subarray(start - offset, end - offset), start - older.offset);
  }
}

function doubt(inode: Inode, descriptor: Descriptor, covered: readonly Write[]): void {
  for (const write of covered) write.doubtful = true;
  inode.failures++;
  descriptor.failuresTold = inode.failures;
}

/** Throws when another descriptor's sync failed since this one was last told. */
function tellFailure(path: string, inode: Inode, descriptor: Descriptor): void {
  if (descriptor.failuresTold === inode.failures) return;
  descriptor.failuresTold = inode.failures;
  throw diskError("sync", path, "EIO");
}

function writeLive(inode: Inode, offset: number, bytes: Uint8Array): Write {
  const end = offset + bytes.length;
  inode.live = grown(inode.live, end);
  inode.live.set(bytes, offset);
  inode.size = Math.max(inode.size, end);
  const write = { offset, bytes, doubtful: false };
  inode.unsynced.push(write);
  return write;
}

/** What a sync of just `write`'s bytes makes durable: earlier unsynced writes lie beneath it. */
function overlapping(inode: Inode, write: Write): Write[] {
  const end = write.offset + write.bytes.length;
  return inode.unsynced.filter(
    ({ offset, bytes }) => offset < end && offset + bytes.length > write.offset,
  );
}

function truncate(inode: Inode, size: number): void {
  inode.size = size;
  inode.live = inode.live.slice(0, size);
  // What was cut off cannot come back; earlier writes within stay as they are.
  inode.unsynced = inode.unsynced
    .filter(({ offset }) => offset < size)
    .map((write) => ({ ...write, bytes: write.bytes.slice(0, size - write.offset) }));
  inode.durable = inode.durable.slice(0, size);
}

/** Puts the sectors of a write that `keeps` lets through into the durable bytes. */
function applyWrite(inode: Inode, write: Write, keeps: () => boolean): void {
  const { offset, bytes } = write;
  for (let at = offset; at < offset + bytes.length;) {
    const end = Math.min(offset + bytes.length, (Math.floor(at / sectorBytes) + 1) * sectorBytes);
    if (keeps()) {
      inode.durable = fitted(inode.durable, end);
      inode.durable.set(bytes.subarray(at - offset, end - offset), at);
    }
    at = end;
  }
}

/** At least `size` long, with room to grow. */
function grown(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(Math.max(size, bytes.length * 2));
  made.set(bytes);
  return made;
}

/** At least `size` long, exactly so if it must grow. */
function fitted(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(size);
  made.set(bytes);
  return made;
}

function inUse(directory: string): DiskError {
  return new DiskError(`directory ${directory} is in use by process 1`, "ELOCKED");
}

function applyNames(names: Map<string, Inode>, changes: readonly NameChange[]): void {
  for (const { name, inode } of changes) {
    if (inode === undefined) names.delete(name);
    else names.set(name, inode);
  }
}

function joined(buffers: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(buffers.reduce((sum, buffer) => sum + buffer.length, 0));
  let at = 0;
  for (const buffer of buffers) {
    bytes.set(buffer, at);
    at += buffer.length;
  }
  return bytes;
}

function diskError(what: string, path: string, code: string): DiskError {
  return new DiskError(`cannot ${what} ${path}: ${code}`, code);
}
