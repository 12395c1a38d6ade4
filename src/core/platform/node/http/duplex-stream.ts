/** Turns a tunnel's end into a stream of Node's, for protocols that Node speaks over any stream: HTTP/2. */
import { Duplex } from "node:stream";
import type { ByteDuplex } from "../../http.ts";

/** The stream takes over `end`: no other code reads or writes `end` any more. */
export function duplexStream(end: ByteDuplex): Duplex {
  let resume = (): void => {};
  const stream = new Duplex({
    read: () => resume(),
    write(chunk: Uint8Array, _, done) {
      if (end.write([chunk])) done();
      else end.onDrain(() => done());
    },
    final(done) {
      end.end();
      done();
    },
    destroy(error, done) {
      end.abort();
      done(error);
    },
  });
  const take = (chunk: Uint8Array): void | Promise<void> => {
    if (stream.destroyed || stream.push(chunk)) return undefined;
    return new Promise((resolve) => {
      resume = resolve;
    });
  };
  void readInto(stream, end, take);
  return stream;
}

/** Settles when the stream ends or is destroyed; never rejects. */
async function readInto(
  stream: Duplex,
  end: ByteDuplex,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  try {
    await end.stream(take);
    stream.push(null);
  } catch (error) {
    stream.destroy(error instanceof Error ? error : undefined);
  }
}
