/**
 * Chunks of checkpoints in a directory that all replicas of a store share: `DIR/<log>/<checkpoint>/<number>`. A file is
 * written beside, synced and renamed, so it is whole or not there.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ChunkName, ChunkStore } from "#store/engines/etcd/chunk-store.ts";

const idForm = /^\d{10}-\d{8}$/;

export class CheckpointDirectory implements ChunkStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async put({ place, id, number }: ChunkName, bytes: Uint8Array): Promise<void> {
    const directory = join(this.#directory, place, id);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const made = join(directory, `new-${randomUUID()}`);
    const file = await open(made, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(made, join(directory, String(number)));
    for (const one of [directory, dirname(directory), this.#directory]) await syncDirectory(one);
  }

  async get({ place, id, number }: ChunkName): Promise<Uint8Array | undefined> {
    try {
      return await readFile(join(this.#directory, place, id, String(number)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async removeBefore(place: string, id: string): Promise<void> {
    for (const name of await readdir(join(this.#directory, place))) {
      if (!idForm.test(name) || name >= id) continue;
      await rm(join(this.#directory, place, name), { recursive: true, force: true });
    }
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
