/**
 * Authenticates tokens of the issuers of an AuthenticationConfiguration (OpenID Connect).
 *
 * In     a bearer token. Out: the user made from its claims, if a currently configured issuer has signed it for one of
 *        its audiences.
 * Holds  only the issuer that a token names is used, with only that issuer's keys and rules. After a change of the
 *        configuration no old result is remembered; keys are kept where issuer and authority are the same.
 * Cost   a signature check and the mapping for a new token, then a digest and a look-up per request.
 * Bounds `rememberedMax` tokens are remembered, each until it ends or the keys change.
 */
import { hash } from "node:crypto";
import type { TokenAuthenticator, TokenResult } from "../auth.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { withAuthenticated } from "../groups.ts";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import { ClaimError } from "./claim-expressions.ts";
import { userOfClaims } from "./claim-user.ts";
import { type FetchDocument, IssuerKeys } from "./issuer-keys.ts";
import { isSignedBy, parseToken, type SignedToken } from "./jws.ts";
import { checkAudience, checkSubject, checkTimes } from "./token-claims.ts";
import type { CompiledIssuer } from "./validation.ts";

/** Counters with upstream's meaning. Each may be absent. */
export interface IssuerObserver {
  /** Observes apiserver_authentication_jwt_authenticator_latency_seconds. */
  readonly authenticated?: (issuer: string, result: "success" | "failure", seconds: number) => void;
  /** Counts fetches of key sets. */
  readonly fetched?: (issuer: string, outcome: "success" | "failure") => void;
}

interface IssuerTokensDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** @param authority PEM; "": the authorities that the host trusts. */
  readonly open: (authority: string) => FetchDocument;
  /** Returns the issuers: the same array until the configuration changes. */
  readonly issuers: () => readonly CompiledIssuer[];
  readonly observer?: IssuerObserver;
}

interface IssuerTokensOptions {
  /** Audiences of the API server. Tokens of issuers are valid for no other audience. */
  readonly apiAudiences: readonly string[];
  readonly algorithms: readonly string[];
}

/** Maximum number of remembered tokens. Upstream's token cache holds 4,096. */
const rememberedMax = 10_000;

interface Issuer {
  readonly compiled: CompiledIssuer;
  readonly keys: IssuerKeys;
}

interface Remembered {
  readonly issuer: Issuer;
  readonly generation: number;
  readonly endsMs: number;
  readonly user: UserInfo;
}

export class IssuerTokens implements TokenAuthenticator {
  readonly #deps: IssuerTokensDeps;
  readonly #options: IssuerTokensOptions;
  #configured: readonly CompiledIssuer[] | undefined;
  #issuers: ReadonlyMap<string, Issuer> = new Map();
  #remembered = new BoundedCache<Remembered>({ entriesMax: rememberedMax });

  constructor(deps: IssuerTokensDeps, options: IssuerTokensOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Fetches the keys of all issuers, so that the first token does not wait for them. Never rejects. */
  async warmUp(): Promise<void> {
    this.#look();
    await Promise.all([...this.#issuers.values()].map(({ keys }) => keys.refresh()));
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): TokenResult | Promise<TokenResult> {
    this.#look();
    if (this.#issuers.size === 0) return { kind: "none" };
    const { apiAudiences } = this.#options;
    const wanted = audiences.length > 0 ? audiences : apiAudiences;
    const good = wanted.filter((audience) => apiAudiences.includes(audience));
    if (good.length === 0) return { kind: "none" };
    const digest = hash("sha256", token, "base64");
    const known = this.#again(digest, good);
    if (known !== undefined) return known;
    const parsed = parseToken(token);
    const issuer = parsed === undefined ? undefined : this.#issuers.get(issuerOf(parsed));
    if (parsed === undefined || issuer === undefined) return { kind: "none" };
    return this.#authenticate(issuer, parsed, digest).then((result) =>
      result instanceof ClaimError
        ? { kind: "rejected", message: result.message }
        : {
            kind: "user",
            user: result,
            audiences: good,
            again: () => this.#again(digest, good),
          },
    );
  }

  /** Returns the remembered user of a verified token. Undefined: the token has expired, or its keys or the configuration have changed. */
  #again(digest: string, audiences: readonly string[]): TokenResult | undefined {
    this.#look();
    const user = this.#recall(digest);
    if (user === undefined) return undefined;
    return { kind: "user", user, audiences, again: () => this.#again(digest, audiences) };
  }

  /** Adopts a changed configuration. */
  #look(): void {
    const configured = this.#deps.issuers();
    if (configured === this.#configured) return;
    const known = new Map([...this.#issuers.values()].map((one) => [keysName(one.compiled), one]));
    const { clock, log, open, observer } = this.#deps;
    const issuers = configured.map((compiled): [string, Issuer] => {
      const { url, discoveryURL, certificateAuthority } = compiled.configuration.issuer;
      const fetched = (outcome: "success" | "failure"): void => observer?.fetched?.(url, outcome);
      const fresh = (): IssuerKeys => {
        const deps = { clock, log, fetch: open(certificateAuthority), fetched };
        return new IssuerKeys(deps, url, discoveryURL);
      };
      return [url, { compiled, keys: known.get(keysName(compiled))?.keys ?? fresh() }];
    });
    this.#configured = configured;
    this.#issuers = new Map(issuers);
    this.#remembered = new BoundedCache({ entriesMax: rememberedMax });
  }

  #recall(digest: string): UserInfo | undefined {
    const known = this.#remembered.get(digest);
    if (known === undefined || known.endsMs < this.#deps.clock.nowMs()) return undefined;
    const { keys } = known.issuer;
    keys.keepFresh();
    return keys.generation === known.generation ? known.user : undefined;
  }

  /** Authenticates a token of a known issuer. A ClaimError becomes a rejection, not a failure. */
  async #authenticate(
    issuer: Issuer,
    token: SignedToken,
    digest: string,
  ): Promise<UserInfo | ClaimError> {
    const { clock, observer } = this.#deps;
    const startMs = clock.monotonicMs();
    const observe = (result: "success" | "failure"): void => {
      const { url } = issuer.compiled.configuration.issuer;
      observer?.authenticated?.(url, result, (clock.monotonicMs() - startMs) / 1_000);
    };
    // The configuration may change while this waits for keys. Then a result under the old configuration is not remembered.
    const remembered = this.#remembered;
    try {
      const { endsMs, generation } = await this.#verify(issuer, token);
      const user = withAuthenticated(userOfClaims(issuer.compiled, token.claims));
      remembered.set(digest, { issuer, generation, endsMs, user });
      observe("success");
      return user;
    } catch (error) {
      if (!(error instanceof ClaimError)) throw error;
      observe("failure");
      return error;
    }
  }

  /** @returns when the token ends, and the generation of the keys that verified it. @throws ClaimError */
  async #verify(
    { compiled, keys }: Issuer,
    token: SignedToken,
  ): Promise<Pick<Remembered, "endsMs" | "generation">> {
    if (keys.keys === undefined) await keys.refresh();
    if (keys.keys === undefined) throw new ClaimError("oidc: authenticator not initialized");
    try {
      checkSubject(token.claims);
      checkAudience(token.claims, compiled.configuration.issuer.audiences);
      const endsMs = checkTimes(token.claims, this.#deps.clock.nowMs());
      this.#checkAlgorithm(token);
      return { endsMs, generation: await requireSignature(token, keys) };
    } catch (error) {
      if (!(error instanceof ClaimError)) throw error;
      throw new ClaimError(`oidc: verify token: ${error.message}`);
    }
  }

  #checkAlgorithm({ algorithm }: SignedToken): void {
    const { algorithms } = this.#options;
    if (algorithms.includes(algorithm)) return;
    const list = algorithms.map((one) => JSON.stringify(one)).join(" ");
    const got = JSON.stringify(algorithm);
    throw new ClaimError(
      `oidc: id token signed with unsupported algorithm, expected [${list}] got ${got}`,
    );
  }
}

/** Checks the signature. Fetches the keys again if the token's key id is unknown, but never for a wrong signature. */
async function requireSignature(token: SignedToken, keys: IssuerKeys): Promise<number> {
  keys.keepFresh();
  if (isSignedBy(token, keys.keys ?? [])) return keys.generation;
  const isUnknown = token.keyId === "" || !keys.hasKeyId(token.keyId);
  if (isUnknown) await keys.refresh();
  if (isUnknown && isSignedBy(token, keys.keys ?? [])) return keys.generation;
  throw new ClaimError("failed to verify signature: failed to verify id token signature");
}

/** Returns a text that identifies the keys. Equal texts mean equal keys. */
function keysName({ configuration }: CompiledIssuer): string {
  const { url, discoveryURL, certificateAuthority } = configuration.issuer;
  return JSON.stringify([url, discoveryURL, certificateAuthority]);
}

/** Returns the issuer of a token. Google's tokens name it in two ways. */
function issuerOf({ claims }: SignedToken): string {
  const { iss } = claims as { readonly iss?: unknown };
  if (iss === "accounts.google.com") return "https://accounts.google.com";
  return typeof iss === "string" ? iss : "";
}
