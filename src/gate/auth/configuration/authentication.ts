/** AuthenticationConfiguration of apiserver.config.k8s.io, read from a file or from the --oidc-* flags. */
import { decodeConfiguration, type Shape } from "./shape.ts";

export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtConfiguration[];
  /** Absent: the flag decides. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

interface AnonymousConfiguration {
  readonly enabled: boolean;
  /** Exact paths. Empty: all paths. */
  readonly conditions: readonly { readonly path: string }[];
}

/** Absent texts are "". */
export interface JwtConfiguration {
  readonly issuer: IssuerConfiguration;
  readonly claimValidationRules: readonly ClaimRule[];
  readonly claimMappings: ClaimMappings;
  readonly userValidationRules: readonly UserRule[];
}

export interface IssuerConfiguration {
  readonly url: string;
  readonly discoveryURL: string;
  /** PEM. "": the authorities that the host trusts. */
  readonly certificateAuthority: string;
  readonly audiences: readonly string[];
  readonly audienceMatchPolicy: string;
  readonly egressSelectorType: string;
}

export interface ClaimRule {
  readonly claim: string;
  readonly requiredValue: string;
  readonly expression: string;
  readonly message: string;
}

export interface PrefixedClaim {
  readonly claim: string;
  readonly prefix: string | undefined;
  readonly expression: string;
}

export interface ClaimMappings {
  readonly username: PrefixedClaim;
  readonly groups: PrefixedClaim;
  readonly uid: { readonly claim: string; readonly expression: string };
  readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
}

export interface UserRule {
  readonly expression: string;
  readonly message: string;
}

const prefixed = (struct: string): Shape => ({
  struct,
  fields: { claim: "text", prefix: "maybe-text", expression: "text" },
});

const jwt: Shape = {
  struct: "JWTAuthenticator",
  fields: {
    issuer: {
      struct: "Issuer",
      fields: {
        url: "text",
        discoveryURL: "text",
        certificateAuthority: "text",
        audiences: { list: "text" },
        audienceMatchPolicy: "text",
        egressSelectorType: "text",
      },
    },
    claimValidationRules: {
      list: {
        struct: "ClaimValidationRule",
        fields: { claim: "text", requiredValue: "text", expression: "text", message: "text" },
      },
    },
    claimMappings: {
      struct: "ClaimMappings",
      fields: {
        username: prefixed("PrefixedClaimOrExpression"),
        groups: prefixed("PrefixedClaimOrExpression"),
        uid: { struct: "ClaimOrExpression", fields: { claim: "text", expression: "text" } },
        extra: {
          list: { struct: "ExtraMapping", fields: { key: "text", valueExpression: "text" } },
        },
      },
    },
    userValidationRules: {
      list: { struct: "UserValidationRule", fields: { expression: "text", message: "text" } },
    },
  },
};

const anonymous: Shape = {
  struct: "AnonymousAuthConfig",
  fields: {
    enabled: "flag",
    conditions: { list: { struct: "AnonymousAuthCondition", fields: { path: "text" } } },
  },
};

/** @throws ConfigurationError */
export function readAuthentication(value: unknown): AuthenticationConfiguration {
  const decoded = decodeConfiguration(value, {
    group: "apiserver.config.k8s.io",
    versions: ["v1", "v1beta1", "v1alpha1"],
    kind: "AuthenticationConfiguration",
    shape: {
      struct: "AuthenticationConfiguration",
      fields: { jwt: { list: jwt }, anonymous: { maybe: anonymous } },
    },
  });
  return decoded as unknown as AuthenticationConfiguration; // by its shape
}
