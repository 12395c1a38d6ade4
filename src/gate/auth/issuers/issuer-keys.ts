/**
 * Manages the keys of one issuer: discovers them, fetches them when a token needs them, keeps them, and fetches them
 * again.
 *
 * Holds  one fetch at a time for all waiting requests, and none within `refetchMs` of the last one: tokens with unknown
 *        key ids cannot cause endless fetches. Fetched keys stay valid while the issuer cannot be reached.
 * Time   keys older than `staleMs` are fetched again in the background when they are used. This removes keys that the
 *        issuer has withdrawn.
 * Bounds at most `waitersMax` requests wait for a fetch, others are refused at once; a fetch ends after `fetchMs`.
 */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { IssuerKey } from "./jws.ts";
import { readKeySet } from "./key-set.ts";

/** Gets a JSON document of bounded size from an issuer. Rejects with an error that says what went wrong. */
export type FetchDocument = (url: string, signal: AbortSignal) => Promise<unknown>;

interface IssuerKeysDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: FetchDocument;
  /** Called after each fetch of the key set. */
  readonly fetched?: (outcome: "success" | "failure") => void;
}

/** Upstream polls an issuer that it could not reach every 10 s. */
const refetchMs = 10_000;
const staleMs = 300_000;
const fetchMs = 10_000;
const waitersMax = 1_024;

const wellKnown = "/.well-known/openid-configuration";

export class IssuerKeys {
  readonly #deps: IssuerKeysDeps;
  readonly #issuer: string;
  readonly #discoveryUrl: string;
  #keys: readonly IssuerKey[] | undefined;
  #keysUrl: string | undefined;
  #fetchedMs = -Infinity;
  #triedMs = -Infinity;
  #flight: Promise<void> | undefined;
  #waiters = 0;
  #generation = 0;

  /** @param discoveryUrl URL of the discovery document; "": below the issuer's own URL. */
  constructor(deps: IssuerKeysDeps, issuer: string, discoveryUrl: string) {
    this.#deps = deps;
    this.#issuer = issuer;
    this.#discoveryUrl = discoveryUrl === "" ? issuer.replace(/\/$/, "") + wellKnown : discoveryUrl;
  }

  /** Keys of the issuer. Undefined: they have not been fetched yet. */
  get keys(): readonly IssuerKey[] | undefined {
    return this.#keys;
  }

  /** Number that changes with each set of keys. */
  get generation(): number {
    return this.#generation;
  }

  hasKeyId(keyId: string): boolean {
    return this.#keys?.some((key) => key.keyId === keyId) ?? false;
  }

  /** Fetches the keys again in the background when they are old. */
  keepFresh(): void {
    const { clock } = this.#deps;
    if (this.#keys === undefined || clock.monotonicMs() - this.#fetchedMs < staleMs) return;
    void this.refresh();
  }

  /** Resolves when a fetch has ended, or at once if no fetch is permitted now. Never rejects. */
  async refresh(): Promise<void> {
    const now = this.#deps.clock.monotonicMs();
    if (this.#flight === undefined) {
      if (now - this.#triedMs < refetchMs) return;
      this.#triedMs = now;
      this.#flight = this.#fetch().finally(() => (this.#flight = undefined));
    }
    if (this.#waiters >= waitersMax) return;
    this.#waiters++;
    await this.#flight;
    this.#waiters--;
  }

  async #fetch(): Promise<void> {
    const ending = new AbortController();
    const { clock, log, fetched } = this.#deps;
    const late = clock.after("auth.keys", fetchMs, () => ending.abort());
    try {
      this.#keysUrl ??= await this.#discover(ending.signal);
      const document = await this.#deps.fetch(this.#keysUrl, ending.signal);
      this.#keys = readKeySet(document);
      this.#fetchedMs = clock.monotonicMs();
      this.#generation++;
      fetched?.("success");
    } catch (error) {
      // The key set may have moved, so its URL is looked up again.
      this.#keysUrl = undefined;
      fetched?.("failure");
      const why = error instanceof Error ? error.message : String(error);
      log.error("the keys of an issuer cannot be fetched", { issuer: this.#issuer, error: why });
    } finally {
      late.cancel();
    }
  }

  async #discover(signal: AbortSignal): Promise<string> {
    const document = await this.#deps.fetch(this.#discoveryUrl, signal);
    const { issuer, jwks_uri: keysUrl } = Object(document) as Readonly<Record<string, unknown>>;
    if (issuer !== this.#issuer) {
      const [expected, got] = [this.#issuer, issuer].map((one) => JSON.stringify(one ?? ""));
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${expected} got ${got}`,
      );
    }
    if (typeof keysUrl !== "string" || !keysUrl.startsWith("https://")) {
      throw new Error("oidc: jwks_uri of the discovery document is no https URL");
    }
    return keysUrl;
  }
}
