/**
 * Remembers the last token of each connection and how to check it again. Most clients send one token with thousands of
 * requests, and neither its digest nor its claims change.
 *
 * Holds  the result is always current: the conditions for the token (account, Pod, Secret, keys, configuration, time)
 *        are checked every time. When the result cannot be given from memory, the token is authenticated like a new
 *        one. Only identical bytes of the header on the same connection are recognised, and only when the peer showed
 *        no certificate.
 * Cost   a look-up, a comparison of the header, and the authenticator's repeated checks.
 * Bounds one header for each open connection. The header's text is kept, as the transport keeps it for the request.
 */
import type { PlainRequest } from "#platform/http.ts";
import type { TokenResult } from "./auth.ts";

interface Known {
  /** Complete value of the Authorization header. */
  readonly header: string;
  readonly again: () => TokenResult | undefined;
}

export class ConnectionMemory {
  readonly #known = new WeakMap<object, Known>();

  /** Returns the remembered result. Undefined: the request must be authenticated like the first of its connection. */
  recall(request: PlainRequest): TokenResult | undefined {
    const connection = connectionOf(request);
    const known = connection && this.#known.get(connection);
    if (known === undefined || known.header !== request.headers["authorization"]) return undefined;
    return known.again();
  }

  /** Remembers `result`, which is about the token in the header of `request`. */
  remember(request: PlainRequest, result: TokenResult): void {
    const connection = connectionOf(request);
    const header = request.headers["authorization"];
    if (result.kind !== "user" || result.again === undefined) return;
    if (connection === undefined || header === undefined) return;
    this.#known.set(connection, { header, again: result.again });
  }
}

/**
 * Returns the connection, unless its peer has shown a certificate. A certificate takes precedence over a token and is
 * checked each time.
 */
function connectionOf({ peer }: PlainRequest): object | undefined {
  if (peer.kind !== "socket") return undefined;
  const { certificate, proxyCertificate, certificateProblem } = peer;
  const isShown = certificate ?? proxyCertificate ?? certificateProblem;
  return isShown === undefined ? peer.connection : undefined;
}
