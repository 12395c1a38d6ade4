/** Decompresses the body of an answer, so that its links can be rewritten. */
import { createGunzip, createInflateRaw } from "node:zlib";
import type { ByteResponse } from "#platform/byte-transport.ts";
import type { TakeChunk } from "#platform/http.ts";

type Source = Pick<ByteResponse, "stream">;

/** @returns undefined for an unsupported encoding (br); the body then stays unchanged, as upstream. */
export function decoded(response: ByteResponse): Source | undefined {
  const encoding = response.headers["content-encoding"] ?? "";
  if (encoding === "") return response;
  if (encoding === "gzip") return { stream: (take) => through(response, createGunzip(), take) };
  // Go's "deflate" is the raw format as well.
  if (encoding === "deflate")
    return { stream: (take) => through(response, createInflateRaw(), take) };
  return undefined;
}

type Decompressor = ReturnType<typeof createGunzip>;

/** Inflates a body at the pace of `take`, without holding it: a few kilobytes may inflate to gigabytes. */
async function through(source: Source, inflate: Decompressor, take: TakeChunk): Promise<void> {
  const fed = source
    .stream((chunk) => feed(inflate, chunk))
    .then(
      () => void inflate.end(),
      (error: unknown) => void inflate.destroy(error instanceof Error ? error : undefined),
    );
  for await (const chunk of inflate) await take(chunk as Uint8Array); // a stream of bytes
  await fed;
}

function feed(inflate: Decompressor, chunk: Uint8Array): Promise<void> | undefined {
  if (inflate.destroyed) throw new Error("the body is not what its encoding says");
  if (inflate.write(chunk)) return undefined;
  return new Promise((resolve) => {
    const go = (): void => {
      inflate.off("drain", go).off("close", go);
      resolve();
    };
    inflate.on("drain", go).on("close", go);
  });
}
