/** AuthorizationConfiguration of apiserver.config.k8s.io, read from a file or from the --authorization-* flags. */
import { decodeConfiguration, type Shape } from "./shape.ts";

export interface AuthorizationConfiguration {
  readonly authorizers: readonly AuthorizerConfiguration[];
}

/** Absent texts are "". */
export interface AuthorizerConfiguration {
  readonly type: string;
  readonly name: string;
  readonly webhook: WebhookConfiguration | undefined;
}

/** Times are in milliseconds. Absent: upstream's default, or no value where upstream has no default. */
export interface WebhookConfiguration {
  readonly authorizedTTL: number | undefined;
  readonly cacheAuthorizedRequests: boolean | undefined;
  readonly unauthorizedTTL: number | undefined;
  readonly cacheUnauthorizedRequests: boolean | undefined;
  readonly timeout: number | undefined;
  readonly subjectAccessReviewVersion: string;
  readonly matchConditionSubjectAccessReviewVersion: string;
  readonly failurePolicy: string;
  readonly connectionInfo: { readonly type: string; readonly kubeConfigFile: string | undefined };
  readonly matchConditions: readonly { readonly expression: string }[];
}

const webhook: Shape = {
  struct: "WebhookConfiguration",
  fields: {
    authorizedTTL: "duration",
    cacheAuthorizedRequests: "maybe-flag",
    unauthorizedTTL: "duration",
    cacheUnauthorizedRequests: "maybe-flag",
    timeout: "duration",
    subjectAccessReviewVersion: "text",
    matchConditionSubjectAccessReviewVersion: "text",
    failurePolicy: "text",
    connectionInfo: {
      struct: "WebhookConnectionInfo",
      fields: { type: "text", kubeConfigFile: "maybe-text" },
    },
    matchConditions: { list: { struct: "WebhookMatchCondition", fields: { expression: "text" } } },
  },
};

const authorizer: Shape = {
  struct: "AuthorizerConfiguration",
  fields: { type: "text", name: "text", webhook: { maybe: webhook } },
};

/** @throws ConfigurationError */
export function readAuthorization(value: unknown): AuthorizationConfiguration {
  const decoded = decodeConfiguration(value, {
    group: "apiserver.config.k8s.io",
    versions: ["v1", "v1beta1", "v1alpha1"],
    kind: "AuthorizationConfiguration",
    shape: { struct: "AuthorizationConfiguration", fields: { authorizers: { list: authorizer } } },
  });
  return decoded as unknown as AuthorizationConfiguration; // by its shape
}
