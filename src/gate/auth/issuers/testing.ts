/** A token issuer for tests: keys and tokens made by `jose`, documents served from memory. */
import { exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK, SignJWT } from "jose";
import { readAuthentication } from "../configuration/authentication.ts";
import type { FetchDocument } from "./issuer-keys.ts";
import { type CompiledIssuer, compileAuthentication } from "./validation.ts";

interface MadeKey extends GenerateKeyPairResult {
  readonly keyId: string;
  readonly algorithm: string;
}

export class TestIssuer {
  readonly url: string;
  /** URLs that were requested from the issuer, in order. */
  readonly asked: string[] = [];
  /** Published keys. A key that is removed from the list is withdrawn. */
  published: JWK[] = [];
  /** Fetches wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  isDown = false;
  /** Issuer that the discovery document names. */
  claimedIssuer: string;
  jwksUri: string;

  constructor(url = "https://issuer.example") {
    this.url = url;
    this.claimedIssuer = url;
    this.jwksUri = `${url}/keys`;
  }

  readonly fetch: FetchDocument = async (url) => {
    this.asked.push(url);
    await this.gate;
    if (this.isDown) throw new Error("connection refused");
    if (url === this.jwksUri) return { keys: this.published };
    return { issuer: this.claimedIssuer, jwks_uri: this.jwksUri };
  };

  /** `more`: additional members of the published key. */
  async addKey(keyId: string, algorithm = "ES256", more: object = {}): Promise<MadeKey> {
    const pair = await generateKeyPair(algorithm, { extractable: true });
    const jwk = await exportJWK(pair.publicKey);
    this.published.push({ ...jwk, kid: keyId, use: "sig", alg: algorithm, ...more });
    return { ...pair, keyId, algorithm };
  }

  /** Makes a token for audience `kubernetes` that ends in 2100, unless the claims say otherwise. */
  token(key: MadeKey, claims: object = {}, header: object = {}): Promise<string> {
    const said = { iss: this.url, aud: "kubernetes", sub: "jane", exp: 4_102_444_800, ...claims };
    return new SignJWT(said)
      .setProtectedHeader({ alg: key.algorithm, kid: key.keyId, ...header })
      .sign(key.privateKey);
  }
}

interface Given {
  readonly issuer?: object;
  readonly [field: string]: unknown;
}

/** Compiles a configuration file with the given issuers. Given fields replace the defaults. */
export function configured(...all: readonly Given[]): readonly CompiledIssuer[] {
  const jwt = all.map(({ issuer, ...more }) => ({
    issuer: { url: "https://issuer.example", audiences: ["kubernetes"], ...issuer },
    claimMappings: { username: { claim: "sub", prefix: "" } },
    ...more,
  }));
  const file = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt,
  };
  return compileAuthentication(readAuthentication(file), []).issuers;
}
