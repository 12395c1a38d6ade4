/**
 * The auth room's door. Deny unless someone allows; identity is settled before a body byte is parsed.
 */
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";

/** An annotation of the request's audit event. */
interface AuditNote {
  readonly key: string;
  readonly value: string;
}

export type AuthenticationResult =
  | { readonly kind: "user"; readonly user: UserInfo; readonly note?: AuditNote }
  /** No credential of a kind this authenticator knows: the next one is asked, anonymous last. */
  | { readonly kind: "none" }
  /** A credential was given and is bad: 401, even where anonymous is allowed. */
  | { readonly kind: "rejected"; readonly message: string };

export interface Authenticator {
  authenticate(request: PlainRequest): Promise<AuthenticationResult>;
}

export type TokenResult =
  /** `audiences`: those of the wanted ones the token is good for. */
  | {
      readonly kind: "user";
      readonly user: UserInfo;
      readonly audiences: readonly string[];
      readonly note?: AuditNote;
      /** The answer of this moment to the same question, from memory; undefined: ask anew. Absent: always ask. */
      readonly again?: () => TokenResult | undefined;
    }
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly message: string };

/** An answer at once from memory, or later from another server: a request that needs none waits for none. */
export type Soon<T> = T | Promise<T>;

/** Knows one kind of bearer token. */
export interface TokenAuthenticator {
  /** `audiences` empty: the API server's own. Never rejects: a server that cannot be asked is a rejection. */
  authenticateToken(token: string, audiences: readonly string[]): Soon<TokenResult>;
}

/** Knows tokens that say nothing of audiences: static and bootstrap tokens. */
export interface UserTokens {
  userOf(token: string): UserInfo | undefined;
}

/** What is asked of an authorizer; field names as in SubjectAccessReview. */
export interface Attributes {
  readonly user: UserInfo;
  /** get, list, watch, create, update, patch, delete, deletecollection, or any custom verb; lower-case HTTP method for non-resource paths. */
  readonly verb: string;
  readonly path: string;
  /** False for `/healthz` and the like: only verb and path count then. */
  readonly isResourceRequest: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * The parsed fieldSelector of a list, watch or deletecollection. Absent: none was given. The node
   * authorizer lets a node list pods only where this says `spec.nodeName=<itself>`.
   */
  readonly fieldSelector?: FieldSelector;
}

export interface Decision {
  readonly allowed: boolean;
  /** True stops the chain with a no; false leaves it to the next authorizer. */
  readonly denied: boolean;
  /** For people: `RBAC: allowed by ClusterRoleBinding "cluster-admin" of ClusterRole ...`. */
  readonly reason: string;
  /** Somebody could not be asked. Where nobody allows it, the request fails with it and is not just refused. */
  readonly error?: string;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** What an authorizer knows of a user's rights in a namespace; for SelfSubjectRulesReview. */
export interface Rules {
  readonly rules: readonly ResourceRule[];
  readonly incomplete: boolean;
  /** Why rules are missing, for people. Absent: none is. */
  readonly error?: string;
}

export interface Authorizer {
  /** Never rejects. */
  authorize(attributes: Attributes): Soon<Decision>;
  rulesFor(user: UserInfo, namespace: string): Rules;
}
