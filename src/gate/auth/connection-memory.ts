/**
 * Remembers for each connection which token came last, and how to ask about it again: most clients send one token with
 * thousands of requests, and neither its digest nor its claims change.
 *
 * Holds  the answer is that of this moment: what made the token good (account, Pod, Secret, keys, configuration, time) is asked
 *        every time, and an answer that cannot be given from memory is looked for as for a new token. Only the bytes
 *        of the same header on the same connection are recalled, and only where no certificate was shown.
 * Cost   a look-up, a comparison of the header, and what the authenticator asks again.
 * Bounds one header for each open connection. A token is kept as it came, as the transport keeps it of the request.
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
