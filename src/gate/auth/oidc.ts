/** What lets others check our service-account tokens: the discovery document and the key set. */
import type { VerifyKey } from "./jwt.ts";

export const jwksPath = "/openid/v1/jwks";
export const discoveryPath = "/.well-known/openid-configuration";

/** `keysUrl`: where clients get the key set; absent: at `jwksPath` of the issuer. */
export function discoveryDocument(
  issuer: string,
  keysUrl: string | undefined,
  keys: readonly VerifyKey[],
): object {
  return {
    issuer,
    jwks_uri: keysUrl ?? `${issuer}${jwksPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.map((key) => key.algorithm))],
  };
}

/** RFC 7517 key set; public halves only. */
export function keySet(keys: readonly VerifyKey[]): { readonly keys: readonly object[] } {
  return {
    keys: keys.map((key) => ({
      use: "sig",
      kid: key.keyId,
      alg: key.algorithm,
      ...key.publicKey.export({ format: "jwk" }),
    })),
  };
}
