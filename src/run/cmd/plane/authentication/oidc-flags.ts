/** Converts the --oidc-* flags to an AuthenticationConfiguration, like upstream. */
import type { AuthenticationConfiguration } from "#auth/configuration/authentication.ts";
import { signingAlgorithms } from "#auth/issuers/jws.ts";
import { readOperatorFile } from "../../shared/operator-file.ts";
import { UsageError } from "../../shared/usage-error.ts";
import type { AuthenticationFlags } from "./flags.ts";

export function hasOidcFlags(flags: AuthenticationFlags): boolean {
  return Object.entries(flags).some(
    ([name, value]) => name.startsWith("oidc") && value !== undefined,
  );
}

/** @throws UsageError */
export function oidcConfiguration(flags: AuthenticationFlags): AuthenticationConfiguration {
  const { oidcIssuerUrl: url = "", oidcClientId: audience = "" } = flags;
  if (url === "" || audience === "") {
    throw new UsageError(
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    );
  }
  const { oidcCaFile, oidcGroupsClaim = "", oidcGroupsPrefix = "", oidcRequiredClaim } = flags;
  const issuer = {
    url,
    discoveryURL: "",
    certificateAuthority: oidcCaFile === undefined ? "" : readOperatorFile(oidcCaFile),
    audiences: [audience],
    audienceMatchPolicy: "",
    egressSelectorType: "",
  };
  const groups = { claim: oidcGroupsClaim, prefix: oidcGroupsPrefix, expression: "" };
  const required = [...(oidcRequiredClaim ?? new Map<string, string>())];
  const jwt = {
    issuer,
    claimValidationRules: required.map(([claim, requiredValue]) => {
      return { claim, requiredValue, expression: "", message: "" };
    }),
    claimMappings: {
      username: usernameClaim(flags, url),
      groups,
      uid: { claim: "", expression: "" },
      extra: [],
    },
    userValidationRules: [],
  };
  return { jwt: [jwt], anonymous: undefined };
}

/** Prefixes a user name with its issuer, except for an e-mail address. Otherwise names of two issuers could collide. */
function usernameClaim(
  { oidcUsernameClaim: claim = "sub", oidcUsernamePrefix: asked = "" }: AuthenticationFlags,
  url: string,
) {
  const own = claim === "email" ? "" : `${url}#`;
  const prefix = asked === "" ? own : asked === "-" ? "" : asked;
  return { claim, prefix, expression: "" };
}

/** @throws UsageError */
export function oidcAlgorithms({ oidcSigningAlgs: asked }: AuthenticationFlags): readonly string[] {
  const algorithms = asked === undefined || asked.length === 0 ? ["RS256"] : asked;
  const odd = algorithms.find((one) => !signingAlgorithms.some((known) => known === one));
  if (odd === undefined) return algorithms;
  throw new UsageError(`oidc: unsupported signing alg: ${JSON.stringify(odd)}`);
}
