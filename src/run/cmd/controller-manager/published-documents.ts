/** Documents that an API server publishes about itself, read with the kubeconfig's credentials. */
import type { JsonValue } from "#api/object.ts";
import type { ReadDocument } from "#extension/policies/published-kinds.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";

/** The OpenAPI document of the core group has 3 MB. That of a group with a thousand definitions has some 10 MB. */
const documentBytesMax = 64 * 2 ** 20;
const documentMs = 30_000;

export function documentReader(
  http: ByteTransport,
  bearerToken: (() => string) | undefined,
): ReadDocument {
  return async (target, accept, stopped) => {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(documentMs)]);
    const token = bearerToken?.();
    const headers = {
      accept,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const answer = await http.send({ method: "GET", target, headers, signal });
    const { status } = answer;
    const bytes = await answer.read(documentBytesMax);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${target}: ${status}`);
    if (bytes === "too-large")
      throw new Error(`GET ${target}: more than ${documentBytesMax} bytes`);
    return JSON.parse(new TextDecoder().decode(bytes)) as JsonValue; // JSON.parse makes no other
  };
}
