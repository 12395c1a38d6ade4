/**
 * Whole list bodies, made and compressed once for the crowd that asks at one revision: 5,000 clients
 * that start together share one encoding and one compression.
 *
 * Holds  a body is served only at the state (`at`) it was made for; who asks while it is being made waits
 *        for it. One that could not be made is forgotten. Bounds `bodiesMax` bodies, the oldest
 *        is dropped first. Blocks inside are shared with list-body.ts, so a new revision costs the changed
 *        blocks, and one compression if a client accepts it.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { gzipLevel } from "#forms/gzip.ts";

interface Body {
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
  /** Returns the compressed body; it is compressed on first use. */
  packed(): Promise<Uint8Array>;
}

const compress = promisify(gzip);

function bodyOf(chunks: readonly Uint8Array[]): Body {
  let packed: Promise<Uint8Array> | undefined;
  return {
    chunks,
    bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    packed: () => (packed ??= compress(Buffer.concat(chunks), { level: gzipLevel })),
  };
}

export class BodyMemo {
  made = 0;
  reused = 0;
  readonly #bodiesMax: number;
  readonly #bodies = new Map<string, { readonly at: string; readonly body: Promise<Body> }>();

  constructor(options: { bodiesMax: number }) {
    this.#bodiesMax = options.bodiesMax;
  }

  get(key: string, at: string, make: () => Promise<readonly Uint8Array[]>): Promise<Body> {
    const known = this.#bodies.get(key);
    if (known?.at === at) {
      this.reused++;
      return known.body;
    }
    this.made++;
    const body = make().then(bodyOf);
    const entry = { at, body };
    this.#bodies.delete(key);
    this.#bodies.set(key, entry);
    body.catch(() => this.#bodies.get(key) === entry && this.#bodies.delete(key));
    for (const oldest of this.#bodies.keys()) {
      if (this.#bodies.size <= this.#bodiesMax) break;
      this.#bodies.delete(oldest);
    }
    return body;
  }
}
