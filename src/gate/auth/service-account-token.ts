/**
 * Signs and checks service-account tokens. A token becomes invalid when the object that it is bound to is deleted.
 *
 * In     a TokenRequest's facts, or a bearer token. Out: a JWT, or the account as a user.
 * Cost   a signature check for a new token (about 0.1 ms), then a digest and a few look-ups per request.
 * Keys   older keys may be added and removed while the process runs. Without a key its tokens are invalid, even if they
 *        are remembered.
 * Holds  a checked signature is remembered; the existence of account, pod and node is checked every time.
 */
import { hash } from "node:crypto";
import type { Lister } from "#api/lister.ts";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Random } from "#platform/random.ts";
import type { TokenAuthenticator, TokenResult } from "./auth.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { serviceAccountGroups, serviceAccountUser, withAuthenticated } from "./groups.ts";
import { hasValidSignature, peekClaims, signingKey, signToken, verifyKey } from "./jwt.ts";
import type { SigningKey, VerifyKey } from "./jwt.ts";
import {
  type LegacyClaims,
  legacyClaims,
  legacyFault,
  legacyIssuer,
  readLegacyClaims,
} from "./legacy-token.ts";
import { claimsFault, readClaims } from "./service-account-claims.ts";
import type { BoundReference, ServiceAccountClaims } from "./service-account-claims.ts";

interface TokenOrder {
  readonly namespace: string;
  readonly account: BoundReference;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly pod?: BoundReference;
  readonly secret?: BoundReference;
  readonly node?: BoundReference;
  /** Less than `expirationSeconds`. Each use of the token after this time is noted. Absent: no use is noted. */
  readonly warnAfterSeconds?: number;
}

interface ServiceAccountTokenOptions {
  /** Issuer of new tokens, such as `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer: string;
  /** Issuers whose tokens are still valid, as while the issuer changes. Absent: only `issuer`. */
  readonly olderIssuers?: readonly string[];
  /** Audiences of the API server; usually the issuer. Never empty. */
  readonly apiAudiences: readonly string[];
  /** PEM of the signing key. */
  readonly privateKey: string;
  /** PEM of older keys whose tokens are still valid. A function is called for each token: another array means a changed set of keys. */
  readonly olderPublicKeys: readonly string[] | (() => readonly string[]);
  /** Called with each use of a legacy token. Returns at once. */
  readonly legacyUsed?: (namespace: string, secretName: string) => void;
  /** Called with each use of a token with an extended lifetime. `isStale`: whether the requested lifetime is over. */
  readonly extendedUsed?: (isStale: boolean) => void;
}

interface StaleNote {
  readonly key: string;
  readonly value: string;
}

const verifiedTokensMax = 10_000;

/** A token with a valid signature. All of its requests get the same `user` object, because caches use it as their key. */
interface Verified {
  readonly claims: ServiceAccountClaims;
  readonly user: UserInfo;
}

export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #lookup: Lister;
  readonly #issuer: string;
  readonly #issuers: ReadonlySet<string>;
  readonly #key: SigningKey;
  readonly #olderPublicKeys: () => readonly string[];
  #verified = new BoundedCache<Verified>({ entriesMax: verifiedTokensMax });
  #verifiedLegacy = new BoundedCache<LegacyClaims>({ entriesMax: verifiedTokensMax });
  readonly #legacyUsed: (namespace: string, secretName: string) => void;
  readonly #extendedUsed: (isStale: boolean) => void;
  readonly apiAudiences: readonly string[];
  /** PEM texts from which `#keys` were made. */
  #olderPems: readonly string[];
  #keys: readonly VerifyKey[];

  constructor(
    deps: { readonly clock: Clock; readonly random: Random; readonly lookup: Lister },
    options: ServiceAccountTokenOptions,
  ) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#lookup = deps.lookup;
    this.#issuer = options.issuer;
    this.#issuers = new Set([options.issuer, ...(options.olderIssuers ?? [])]);
    this.#key = signingKey(options.privateKey);
    this.apiAudiences = options.apiAudiences;
    this.#extendedUsed = options.extendedUsed ?? (() => {});
    this.#legacyUsed = options.legacyUsed ?? (() => {});
    const { olderPublicKeys: older } = options;
    this.#olderPublicKeys = typeof older === "function" ? older : () => older;
    this.#olderPems = this.#olderPublicKeys();
    this.#keys = [this.#key, ...this.#olderPems.map(verifyKey)];
  }

  /** Keys that JWKS publishes, the signing key first. Another array when they have changed. */
  get keys(): readonly VerifyKey[] {
    const pems = this.#olderPublicKeys();
    if (pems === this.#olderPems) return this.#keys;
    this.#olderPems = pems;
    this.#keys = [this.#key, ...pems.map(verifyKey)];
    // Tokens that a removed key has verified are no longer valid.
    this.#verified = new BoundedCache({ entriesMax: verifiedTokensMax });
    this.#verifiedLegacy = new BoundedCache({ entriesMax: verifiedTokensMax });
    return this.#keys;
  }

  get issuer(): string {
    return this.#issuer;
  }

  issue(order: TokenOrder): { readonly token: string; readonly issuedAtMs: number } {
    const issuedAt = Math.floor(this.#clock.nowMs() / 1000);
    const expiresAt = issuedAt + order.expirationSeconds;
    const { namespace, account, pod, secret, node, warnAfterSeconds } = order;
    const warnafter = warnAfterSeconds === undefined ? undefined : issuedAt + warnAfterSeconds;
    const token = signToken(this.#key, {
      aud: order.audiences,
      exp: expiresAt,
      iat: issuedAt,
      iss: this.#issuer,
      jti: this.#random.uuid(),
      "kubernetes.io": { namespace, node, pod, secret, serviceaccount: account, warnafter },
      nbf: issuedAt,
      sub: serviceAccountUser(namespace, account.name),
    });
    return { token, issuedAtMs: issuedAt * 1000 };
  }

  /** Issues a token without an end, which the Secret of this name will store. */
  issueLegacy(claims: LegacyClaims): string {
    return signToken(this.#key, legacyClaims(claims));
  }

  authenticateToken(token: string, audiences: readonly string[]): TokenResult {
    const raw = peekClaims(token);
    if (raw?.["iss"] === legacyIssuer) return this.#authenticateLegacy(token, audiences);
    const issuer = raw?.["iss"];
    if (typeof issuer !== "string" || !this.#issuers.has(issuer)) return { kind: "none" };
    const known = this.#verify(token);
    if (known === undefined) return { kind: "rejected", message: "invalid bearer token" };
    const { claims } = known;
    const wanted = audiences.length > 0 ? audiences : this.apiAudiences;
    const good = wanted.filter((audience) => claims.audiences.includes(audience));
    if (good.length === 0) return { kind: "rejected", message: audienceFault(claims, wanted) };
    return this.#answer(known, good, this.keys);
  }

  /** Returns the current result for a token whose signature is valid. */
  #answer(
    { claims, user }: Verified,
    audiences: readonly string[],
    keys: readonly VerifyKey[],
  ): TokenResult {
    const fault = claimsFault(claims, this.#lookup, this.#clock.nowMs());
    if (fault !== undefined) return { kind: "rejected", message: fault };
    const again = (): TokenResult | undefined =>
      this.keys === keys ? this.#answer({ claims, user }, audiences, keys) : undefined;
    const answer = { kind: "user", user, audiences, again } as const;
    const note = this.#staleNote(claims);
    return note === undefined ? answer : { ...answer, note };
  }

  /** Returns upstream's audit annotation of a use after the requested lifetime. */
  #staleNote({ warnAfter, namespace, account }: ServiceAccountClaims): StaleNote | undefined {
    if (warnAfter === undefined) return undefined;
    const seconds = Math.floor(this.#clock.nowMs() / 1_000) - warnAfter;
    this.#extendedUsed(seconds > 0);
    if (seconds <= 0) return undefined;
    const subject = serviceAccountUser(namespace, account.name);
    return {
      key: "authentication.k8s.io/stale-token",
      value: `subject: ${subject}, seconds after warning threshold: ${seconds}`,
    };
  }

  /** Authenticates a legacy token. It names no audience, so it is valid for the API server's audiences. */
  #authenticateLegacy(token: string, audiences: readonly string[]): TokenResult {
    const claims = this.#verifyLegacy(token);
    if (claims === undefined) return { kind: "rejected", message: "invalid bearer token" };
    const wanted = audiences.length > 0 ? audiences : this.apiAudiences;
    const good = wanted.filter((audience) => this.apiAudiences.includes(audience));
    if (good.length === 0) {
      const message = audienceFault({ audiences: this.apiAudiences }, wanted);
      return { kind: "rejected", message };
    }
    const fault = legacyFault(claims, token, this.#lookup);
    if (fault !== undefined) return { kind: "rejected", message: fault };
    const { namespace, account, secretName } = claims;
    this.#legacyUsed(namespace, secretName);
    return { kind: "user", user: accountUser(namespace, account), audiences: good };
  }

  #verifyLegacy(token: string): LegacyClaims | undefined {
    const { keys } = this;
    const digest = hash("sha256", token, "base64");
    const known = this.#verifiedLegacy.get(digest);
    if (known !== undefined) return known;
    if (!hasValidSignature(token, keys)) return undefined;
    const claims = readLegacyClaims(peekClaims(token) ?? {});
    if (claims !== undefined) this.#verifiedLegacy.set(digest, claims);
    return claims;
  }

  #verify(token: string): Verified | undefined {
    const { keys } = this;
    const digest = hash("sha256", token, "base64");
    const known = this.#verified.get(digest);
    if (known !== undefined) return known;
    if (!hasValidSignature(token, keys)) return undefined;
    const claims = readClaims(peekClaims(token) ?? {});
    if (claims === undefined) return undefined;
    const verified = { claims, user: userOf(claims) };
    this.#verified.set(digest, verified);
    return verified;
  }
}

function audienceFault(
  claims: Pick<ServiceAccountClaims, "audiences">,
  wanted: readonly string[],
): string {
  const quote = (list: readonly string[]): string =>
    `[${list.map((entry) => JSON.stringify(entry)).join(" ")}]`;
  return `token audiences ${quote(claims.audiences)} is invalid for the target audiences ${quote(wanted)}`;
}

function userOf(claims: ServiceAccountClaims): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  const put = (key: string, value: string | undefined): void => {
    // own keys: they begin with a prefix.
    if (value !== undefined && value !== "") extra[`authentication.kubernetes.io/${key}`] = [value];
  };
  put("credential-id", claims.tokenId === "" ? undefined : `JTI=${claims.tokenId}`);
  put("pod-name", claims.pod?.name);
  put("pod-uid", claims.pod?.uid);
  put("node-name", claims.node?.name);
  put("node-uid", claims.node?.uid);
  return { ...accountUser(claims.namespace, claims.account), extra };
}

function accountUser(namespace: string, account: BoundReference): UserInfo {
  return withAuthenticated({
    name: serviceAccountUser(namespace, account.name),
    uid: account.uid,
    groups: serviceAccountGroups(namespace),
  });
}
