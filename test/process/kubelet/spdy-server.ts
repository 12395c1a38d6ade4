/** The server's end of a SPDY/3.1 connection, as much of it as a fake kubelet needs. */
import { constants, inflateSync } from "node:zlib";
import type { Duplex } from "node:stream";
import { dataFrames, finFrame } from "#wire/spdy/frames.ts";
import { spdyDictionary } from "#wire/spdy/testing/dictionary.ts";

export interface SpdyStream {
  readonly id: number;
  readonly headers: Readonly<Record<string, string>>;
  reply(): void;
  write(bytes: Uint8Array): void;
  end(): void;
  onData(take: (bytes: Uint8Array, isFin: boolean) => void): void;
}

interface Open {
  take: (bytes: Uint8Array, isFin: boolean) => void;
  /** What came before anybody took it. */
  readonly early: (readonly [Uint8Array, boolean])[];
}

export function serveSpdy(socket: Duplex, opened: (stream: SpdyStream) => void): void {
  let pending = Buffer.alloc(0);
  const blocks: Buffer[] = [];
  let inflated = 0;
  const streams = new Map<number, Open>();
  const headersOf = (block: Buffer): Record<string, string> => {
    blocks.push(Buffer.from(block));
    const all = inflateSync(Buffer.concat(blocks), {
      dictionary: spdyDictionary,
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    const mine = all.subarray(inflated);
    inflated = all.length;
    return readHeaders(mine);
  };
  const takeControl = (type: number, body: Buffer): void => {
    if (type === 6)
      return void socket.write(Buffer.concat([Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4]), body]));
    if (type !== 1) return;
    const id = body.readUInt32BE(0);
    streams.set(id, earlyStream());
    opened(streamOf(socket, id, headersOf(body.subarray(10)), streams));
  };
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const length = pending.length < 8 ? Infinity : pending.readUIntBE(5, 3);
      if (pending.length < 8 + length) return;
      const head = pending.subarray(0, 8);
      const body = pending.subarray(8, 8 + length);
      pending = pending.subarray(8 + length);
      if (((head[0] ?? 0) & 0x80) !== 0) takeControl(head.readUInt16BE(2), body);
      else streams.get(head.readUInt32BE(0))?.take(body, ((head[4] ?? 0) & 1) !== 0);
    }
  });
}

function earlyStream(): Open {
  const early: (readonly [Uint8Array, boolean])[] = [];
  return { early, take: (bytes, isFin) => void early.push([bytes, isFin]) };
}

function streamOf(
  socket: Duplex,
  id: number,
  headers: Readonly<Record<string, string>>,
  streams: ReadonlyMap<number, Open>,
): SpdyStream {
  return {
    id,
    headers,
    reply: () => {
      // An empty header block, in a zlib stream of its own, is never looked at by clients here.
      const block = replyBlock(id);
      const frame = Buffer.concat([
        Buffer.from([0x80, 3, 0, 2, 0, 0, 0, 4 + block.length, 0, 0, 0, id]),
        block,
      ]);
      socket.write(frame);
    },
    write: (bytes) => dataFrames(id, bytes).forEach((part) => socket.write(part)),
    end: () => void socket.write(finFrame(id)),
    onData: (take) => {
      const open = streams.get(id);
      if (open === undefined) return;
      open.take = take;
      for (const [bytes, isFin] of open.early) take(bytes, isFin);
    },
  };
}

/** No headers: a stored block of a zero count; the first of a connection begins the zlib stream. */
function replyBlock(id: number): Buffer {
  const begin = id === 1 ? [0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2] : [];
  return Buffer.from([...begin, 0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
}

function readHeaders(block: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  let at = 4;
  const text = (): string => {
    const length = block.readUInt32BE(at);
    at += 4 + length;
    return block.toString("utf8", at - length, at);
  };
  for (let left = block.readUInt32BE(0); left > 0; left--) {
    const name = text();
    headers[name] = text();
  }
  return headers;
}
