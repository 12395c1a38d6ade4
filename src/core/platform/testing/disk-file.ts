/**
 * An open file of the fake disk. A write is under way from the start: a crash during it may keep parts.
 *
 * Durable writes go through a descriptor of their own, as on Linux; hosts tell each descriptor once of a
 * write-back that failed, whichever sync met it.
 */
import { concatBytes } from "#base/bytes.ts";
import type { DiskFile } from "../disk.ts";
import { diskError } from "./disk-error.ts";
import {
  doubt,
  type Inode,
  keep,
  overlapping,
  truncate,
  type Write,
  writeLive,
} from "./disk-inode.ts";
import { type DiskSteps, never } from "./disk-steps.ts";

interface Descriptor {
  failuresTold: number;
}

interface FakeFileDeps {
  readonly steps: DiskSteps;
  /** Throws ENOSPC when `moreBytes` do not fit. */
  readonly reserve: (path: string, moreBytes: number) => void;
}

export class FakeFile implements DiskFile {
  readonly #steps: DiskSteps;
  readonly #reserveMore: FakeFileDeps["reserve"];
  readonly #path: string;
  readonly #inode: Inode;
  readonly #plain: Descriptor;
  readonly #durably: Descriptor;

  constructor({ steps, reserve }: FakeFileDeps, path: string, inode: Inode) {
    this.#steps = steps;
    this.#reserveMore = reserve;
    this.#path = path;
    this.#inode = inode;
    this.#plain = { failuresTold: inode.failures };
    this.#durably = { failuresTold: inode.failures };
  }

  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    this.#begin(buffers, position);
    await this.#steps.step("write", this.#path);
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    await this.#steps.step("read", this.#path);
    // Throws as the host does: a buffer cannot have a negative length.
    if (length < 0) throw new RangeError(`read of ${length} bytes from ${this.#path}`);
    const { live, size } = this.#inode;
    return live.slice(position, Math.min(size, position + length));
  }

  async sync(): Promise<void> {
    await this.#sync(this.#plain, [...this.#inode.unsynced]);
  }

  async size(): Promise<number> {
    await this.#steps.step("read", this.#path);
    return this.#inode.size;
  }

  async truncate(size: number): Promise<void> {
    await this.#steps.step("write", this.#path);
    truncate(this.#inode, size);
    await this.#sync(this.#plain, [...this.#inode.unsynced]);
  }

  async writeDurably(buffers: readonly Uint8Array[], position: number): Promise<void> {
    const write = this.#begin(buffers, position);
    await this.#steps.step("write", this.#path);
    if (write !== undefined) await this.#sync(this.#durably, overlapping(this.#inode, write));
  }

  writeDurablyAtOnce(buffers: readonly Uint8Array[], position: number): Promise<void> | undefined {
    if (this.#steps.paced) return this.writeDurably(buffers, position);
    const write = this.#begin(buffers, position);
    // No other code runs between the steps of this write, but a crash or a fault may come at each.
    if (!this.#steps.stepAtOnce("write", this.#path) || write === undefined) return never();
    return this.#syncAtOnce(this.#durably, overlapping(this.#inode, write)) ? undefined : never();
  }

  async extend(size: number): Promise<void> {
    const { size: before } = this.#inode;
    this.#reserve(size);
    if (!this.#steps.dead && size > before) {
      writeLive(this.#inode, before, new Uint8Array(size - before));
    }
    await this.#steps.step("extend", this.#path);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Begins a write. Undefined: the disk is dead. */
  #begin(buffers: readonly Uint8Array[], position: number): Write | undefined {
    const bytes = concatBytes(buffers);
    this.#reserve(position + bytes.length);
    return this.#steps.dead ? undefined : writeLive(this.#inode, position, bytes);
  }

  #reserve(size: number): void {
    this.#reserveMore(this.#path, Math.max(0, size - this.#inode.size));
  }

  async #sync(descriptor: Descriptor, covered: readonly Write[]): Promise<void> {
    try {
      await this.#steps.step("sync", this.#path);
    } catch (error) {
      this.#failed(descriptor, covered);
      throw error;
    }
    this.#synced(descriptor, covered);
    await this.#steps.step(undefined, this.#path);
  }

  /** @returns whether the disk is still alive. */
  #syncAtOnce(descriptor: Descriptor, covered: readonly Write[]): boolean {
    try {
      if (!this.#steps.stepAtOnce("sync", this.#path)) return false;
    } catch (error) {
      this.#failed(descriptor, covered);
      throw error;
    }
    this.#synced(descriptor, covered);
    return this.#steps.stepAtOnce(undefined, this.#path);
  }

  #failed(descriptor: Descriptor, covered: readonly Write[]): void {
    doubt(this.#inode, covered);
    descriptor.failuresTold = this.#inode.failures;
  }

  /** Throws when another descriptor's sync failed since this one last reported an error. */
  #synced(descriptor: Descriptor, covered: readonly Write[]): void {
    keep(this.#inode, covered);
    if (descriptor.failuresTold === this.#inode.failures) return;
    descriptor.failuresTold = this.#inode.failures;
    throw diskError("sync", this.#path, "EIO");
  }
}
