/**
 * Tokens without an audience are valid for the API server only: no other server may accept one as proof of the sender's
 * identity.
 *
 * Source: k8s.io/apiserver pkg/authentication/authenticator/audagnostic.go, 1.36.
 */
import type { TokenAuthenticator, UserTokens } from "./auth.ts";

/** Returns the `apiAudiences` of the API server, for which tokens without audiences are valid. */
export function forApiServer(
  tokens: UserTokens,
  apiAudiences: readonly string[],
): TokenAuthenticator {
  return {
    authenticateToken(token, audiences) {
      const wanted = audiences.length > 0 ? audiences : apiAudiences;
      const good = wanted.filter((audience) => apiAudiences.includes(audience));
      const user = good.length === 0 ? undefined : tokens.userOf(token);
      return user === undefined ? { kind: "none" } : { kind: "user", user, audiences: good };
    },
  };
}
