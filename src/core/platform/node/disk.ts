/**
 * The host's disk, by callbacks of node:fs: each operation is one trip to libuv's thread pool, and
 * costs about a third less than the promise API's file handles. Only `writeDurablyAtOnce` makes none.
 * A file is opened even where all descriptors are taken, as long as there are spares (spare-descriptors.ts).
 */
import {
  close,
  constants,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  read,
  writev,
  writevSync,
} from "node:fs";
import { mkdir, open as openHandle, readdir, rename, rm, statfs } from "node:fs/promises";
import { platform } from "node:process";
import type { Disk, DiskFile, DiskLock } from "../disk.ts";
import { diskError, asDiskError } from "./disk-error.ts";
import { lockDirectory, lockDirectoryForReading } from "./disk-lock.ts";
import { packBytes, unpackBytes } from "./disk-pack.ts";
import { openWithSpare, withSpare } from "./spare-descriptors.ts";

/**
 * A write through a descriptor with this flag is durable when it returns: one trip through the
 * thread pool instead of two, a sixth faster. Elsewhere than on Linux it does not reach the medium,
 * so there a sync follows - through the same descriptor, used for nothing else: a host reports a failed
 * write-back once per descriptor, and no other sync may consume that report.
 */
const dsyncFlag = platform === "linux" ? constants.O_DSYNC : undefined;
/** Buffers per writev: Linux's IOV_MAX. */
const writeBuffersMax = 1024;

export class NodeDisk implements Disk {
  async open(path: string, mode: "create" | "write" | "read"): Promise<DiskFile> {
    const flags = { create: "wx+", write: "r+", read: "r" }[mode];
    return new NodeFile(path, await openFd(path, flags));
  }

  async list(directory: string): Promise<readonly string[]> {
    const names = withSpare(() => readdir(directory));
    return (await asDiskError("list", directory, names)).toSorted();
  }

  async makeDirectory(directory: string): Promise<void> {
    await asDiskError("make", directory, mkdir(directory, { recursive: true, mode: 0o700 }));
  }

  rename(source: string, target: string): Promise<void> {
    return asDiskError("rename", source, rename(source, target));
  }

  remove(path: string): Promise<void> {
    return asDiskError("remove", path, rm(path));
  }

  async syncDirectory(directory: string): Promise<void> {
    const opening = withSpare(() => openHandle(directory, "r"));
    const handle = await asDiskError("open", directory, opening);
    try {
      await asDiskError("sync", directory, handle.sync());
    } finally {
      await handle.close();
    }
  }

  async freeBytes(directory: string): Promise<number> {
    const { bavail, bsize } = await asDiskError("stat", directory, statfs(directory));
    return bavail * bsize;
  }

  pack(bytes: Uint8Array): Promise<Uint8Array> {
    return packBytes(bytes);
  }

  unpack(packed: Uint8Array, bytesMax: number): Promise<Uint8Array> {
    return unpackBytes(packed, bytesMax);
  }

  lock(directory: string): Promise<DiskLock> {
    return lockDirectory(directory);
  }

  lockForReading(directory: string): Promise<DiskLock> {
    return lockDirectoryForReading(directory);
  }
}

class NodeFile implements DiskFile {
  readonly #path: string;
  readonly #fd: number;
  #durableFd: number | undefined;

  constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    return this.#write(this.#fd, buffers, position);
  }

  async writeDurably(buffers: readonly Uint8Array[], position: number): Promise<void> {
    const fd = (this.#durableFd ??= await openFd(
      this.#path,
      constants.O_WRONLY | (dsyncFlag ?? 0),
    ));
    await this.#write(fd, buffers, position);
    if (dsyncFlag === undefined) await this.#call("sync", (done) => fsync(fd, done));
  }

  /** Writes synchronously, except the first durable write and hosts without O_DSYNC, which need asynchronous calls. */
  writeDurablyAtOnce(buffers: readonly Uint8Array[], position: number): Promise<void> | undefined {
    const fd = this.#durableFd;
    if (fd === undefined || dsyncFlag === undefined) return this.writeDurably(buffers, position);
    try {
      this.#writeAtOnce(fd, buffers, position);
    } catch (error) {
      throw diskError("write", this.#path, error as Error);
    }
    return undefined;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    // Not zeroed first, which would take as long as the reading. Bytes that were not read are not returned.
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
    let done = 0;
    while (done < length) {
      const count = await this.#readSome(bytes, done, position + done);
      if (count === 0) break;
      done += count;
    }
    return done === length ? bytes : bytes.subarray(0, done);
  }

  sync(): Promise<void> {
    return this.#call("sync", (done) => fdatasync(this.#fd, done));
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fstat(this.#fd, (error, stats) => {
        if (error !== null) reject(diskError("stat", this.#path, error));
        else resolve(stats.size);
      });
    });
  }

  async truncate(size: number): Promise<void> {
    await this.#call("truncate", (done) => ftruncate(this.#fd, size, done));
    await this.#call("sync", (done) => fsync(this.#fd, done));
  }

  async extend(size: number): Promise<void> {
    if ((await this.size()) >= size) return;
    await this.#call("extend", (done) => ftruncate(this.#fd, size, done));
  }

  async close(): Promise<void> {
    const durable = this.#durableFd;
    if (durable !== undefined) await this.#call("close", (done) => close(durable, done));
    await this.#call("close", (done) => close(this.#fd, done));
  }

  #call(what: string, start: (done: (error: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      start((error) => {
        if (error) reject(diskError(what, this.#path, error));
        else resolve();
      });
    });
  }

  async #write(fd: number, buffers: readonly Uint8Array[], position: number): Promise<void> {
    let left = buffers;
    let at = position;
    while (left.length > 0) {
      const written = await this.#writeSome(fd, left, at);
      at += written;
      left = dropBytes(left, written);
    }
  }

  #writeAtOnce(fd: number, buffers: readonly Uint8Array[], position: number): void {
    let left = buffers;
    let at = position;
    while (left.length > 0) {
      const written = writevSync(fd, left.slice(0, writeBuffersMax), at);
      at += written;
      left = dropBytes(left, written);
    }
  }

  #writeSome(fd: number, buffers: readonly Uint8Array[], position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      writev(fd, buffers.slice(0, writeBuffersMax), position, (error, written) => {
        if (error !== null) reject(diskError("write", this.#path, error));
        else resolve(written);
      });
    });
  }

  #readSome(bytes: Uint8Array, offset: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      read(this.#fd, bytes, offset, bytes.length - offset, position, (error, count) => {
        if (error !== null) reject(diskError("read", this.#path, error));
        else resolve(count);
      });
    });
  }
}

function openFd(path: string, flags: string | number): Promise<number> {
  return new Promise((resolve, reject) => {
    openWithSpare(path, flags, 0o600, (error, fd) => {
      if (error !== null) reject(diskError("open", path, error));
      else resolve(fd);
    });
  });
}

/** Returns `buffers` without their first `count` bytes. */
function dropBytes(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  let i = 0;
  while (i < buffers.length && left >= (buffers[i] as Uint8Array).length) {
    left -= (buffers[i++] as Uint8Array).length;
  }
  const rest = buffers.slice(i);
  if (left > 0) rest[0] = (rest[0] as Uint8Array).subarray(left);
  return rest;
}
