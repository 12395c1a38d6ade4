/** Discovery document and key set, with which other parties verify this server's service-account tokens. */
import type { VerifyKey } from "./jwt.ts";

export const jwksPath = "/openid/v1/jwks";
export const discoveryPath = "/.well-known/openid-configuration";

/** `keysUrl`: URL of the key set for clients. Absent: `jwksPath` below the issuer. */
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

/** Returns the RFC 7517 key set. It contains only public keys. */
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
