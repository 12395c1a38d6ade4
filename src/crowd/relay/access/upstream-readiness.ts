/**
 * Whether the upstream itself says that it is ready, for refusals that may only mean that it is not.
 *
 * A server that starts answers before its rules and keys are loaded, and refuses then what it will allow.
 * Asked without credentials: the relay's own may be what is not known yet. An upstream that does not let
 * everybody ask (401, 403) counts as ready, so its refusals count.
 *
 * Holds  one question at a time, however many wait for it.
 */
import type { ByteTransport } from "#platform/byte-transport.ts";

const readyStatuses: ReadonlySet<number> = new Set([200, 401, 403]);
/** Maximum size of the readiness page, which names the checks that fail. */
const pageBytesMax = 1024 * 1024;

export class UpstreamReadiness {
  readonly #http: ByteTransport;
  #asking: Promise<boolean> | undefined;

  constructor(deps: { readonly anonymousHttp: ByteTransport }) {
    this.#http = deps.anonymousHttp;
  }

  /** Whether the upstream is ready. Never rejects. */
  isReady(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<boolean> {
    const signal = new AbortController().signal;
    try {
      const response = await this.#http.send({
        method: "GET",
        target: "/readyz",
        headers: {},
        signal,
      });
      await response.read(pageBytesMax);
      return readyStatuses.has(response.status);
    } catch {
      return false;
    }
  }
}
