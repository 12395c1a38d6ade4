/** Compresses files that are seldom read, on libuv's threads: 1 MiB of objects takes some 10 ms of a thread. */
import { constants, deflateRaw, inflateRaw } from "node:zlib";
import { promisify } from "node:util";
import { DiskError } from "../disk.ts";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

export function packBytes(bytes: Uint8Array): Promise<Uint8Array> {
  // The fastest level: the next level takes twice the time to save a twentieth of the bytes.
  return deflate(bytes, { level: constants.Z_BEST_SPEED });
}

export async function unpackBytes(packed: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  try {
    return await inflate(packed, { maxOutputLength: bytesMax });
  } catch (error) {
    throw new DiskError(`cannot unpack: ${(error as Error).message}`, "EUNPACK", { cause: error });
  }
}
