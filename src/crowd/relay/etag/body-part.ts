/**
 * A body in parts, each made and compressed once: a change costs the part it falls into, and all readers
 * share one result per encoding.
 *
 *   part     a run of a view's rows, or what stands before, between and after them
 *   gzip     one member: raw deflate pieces that end on a byte (sync flush), a last empty block, and a
 *            CRC combined from the parts'. Readers need not know members in a row.
 *   zstd     one frame per part (RFC 8878, 3.1: frames may follow each other)
 *
 * Holds  the same parts give the same bytes, compressed too, on every replica with the same libraries.
 * Cost   compression runs in the pool, at most `packingMax` parts of a body at a time, on first use.
 */
import { promisify } from "node:util";
import { constants, crc32, deflateRaw, zstdCompress } from "node:zlib";
import type { Pace } from "#platform/pace.ts";
import { combineCrc, crcShift } from "./crc.ts";

export type Coding = "gzip" | "zstd";

interface Deflated {
  readonly bytes: Uint8Array;
  readonly crc: number;
  readonly length: number;
  readonly shift: number;
}

const deflate = promisify(deflateRaw);
const compressZstd = promisify(zstdCompress);
/** Maximum number of bytes joined from rows in one turn of the loop: 2 to 8 ms, the most for small objects. */
const turnBytesMax = 256 * 1024;
/** Maximum number of compressions in flight: each holds about 300 KB of state. */
const packingMax = 4;
/** Measured on 20,000 lines: level 4 takes 5 ms per MB, and its output is within 10 % of level 9's size. */
const deflateOptions = { level: 4, finishFlush: constants.Z_SYNC_FLUSH };
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const gzipHead = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const lastBlock = Uint8Array.of(3, 0);

export class BodyPart {
  #make: (() => Uint8Array) | undefined;
  #bytes: Uint8Array | undefined;
  #deflated: Promise<Deflated> | undefined;
  #zstd: Promise<Uint8Array> | undefined;

  /** @param make Called once, on first use, possibly after a change of the content: its result must not depend on such changes. */
  constructor(make: () => Uint8Array) {
    this.#make = make;
  }

  get made(): boolean {
    return this.#bytes !== undefined;
  }

  get bytes(): Uint8Array {
    const bytes = (this.#bytes ??= this.#make?.() ?? new Uint8Array(0));
    this.#make = undefined;
    return bytes;
  }

  deflated(): Promise<Deflated> {
    return (this.#deflated ??= this.#deflate());
  }

  zstd(): Promise<Uint8Array> {
    return (this.#zstd ??= compressZstd(this.bytes, zstdOptions));
  }

  async #deflate(): Promise<Deflated> {
    const { bytes } = this;
    const packed = await deflate(bytes, deflateOptions);
    return {
      bytes: packed,
      crc: crc32(bytes),
      length: bytes.length,
      shift: crcShift(bytes.length),
    };
  }
}

export class PartedBody {
  readonly #parts: readonly BodyPart[];
  #plain: Promise<readonly Uint8Array[]> | undefined;
  #gzip: Promise<Uint8Array> | undefined;
  #zstd: Promise<Uint8Array> | undefined;

  constructor(parts: readonly BodyPart[]) {
    this.#parts = parts;
  }

  /** Returns the body in pieces, made in turns of the loop: joining them would copy all of them after each change. */
  plain(pace: Pace): Promise<readonly Uint8Array[]> {
    return (this.#plain ??= this.#makePlain(pace));
  }

  async #makePlain(pace: Pace): Promise<readonly Uint8Array[]> {
    const pieces: Uint8Array[] = [];
    let made = 0;
    for (const part of this.#parts) {
      const wasMade = part.made;
      pieces.push(part.bytes);
      if (!wasMade) made += part.bytes.length;
      if (made < turnBytesMax) continue;
      await pace.turn();
      made = 0;
    }
    return pieces;
  }

  packed(coding: Coding): Promise<Uint8Array> {
    return coding === "gzip"
      ? (this.#gzip ??= this.#packGzip())
      : (this.#zstd ??= this.#packZstd());
  }

  async #packZstd(): Promise<Uint8Array> {
    return Buffer.concat(await few(this.#parts, (part) => part.zstd()));
  }

  async #packGzip(): Promise<Uint8Array> {
    const pieces = await few(this.#parts, (part) => part.deflated());
    let crc = 0;
    let length = 0;
    for (const piece of pieces) {
      crc = combineCrc(crc, piece.crc, piece.shift);
      length += piece.length;
    }
    const end = Buffer.alloc(8);
    end.writeUInt32LE(crc, 0);
    end.writeUInt32LE(length % 2 ** 32, 4);
    return Buffer.concat([gzipHead, ...pieces.map(({ bytes }) => bytes), lastBlock, end]);
  }
}

/** Returns the results in the order of the parts, with at most `packingMax` in flight. */
async function few<T>(
  parts: readonly BodyPart[],
  pack: (part: BodyPart) => Promise<T>,
): Promise<readonly T[]> {
  const done: T[] = [];
  for (let at = 0; at < parts.length; at += packingMax) {
    done.push(...(await Promise.all(parts.slice(at, at + packingMax).map(pack))));
  }
  return done;
}
