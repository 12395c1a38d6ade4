/**
 * The interface of the auth room. A request is denied unless an authorizer allows it. The user is known before a body
 * byte is parsed.
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
  /** The request has no credential that this authenticator knows. The next authenticator is asked, anonymous last. */
  | { readonly kind: "none" }
  /** The request has a bad credential: 401, even where anonymous requests are allowed. */
  | { readonly kind: "rejected"; readonly message: string };

export interface Authenticator {
  authenticate(request: PlainRequest): Promise<AuthenticationResult>;
}

export type TokenResult =
  /** `audiences`: those wanted audiences for which the token is valid. */
  | {
      readonly kind: "user";
      readonly user: UserInfo;
      readonly audiences: readonly string[];
      readonly note?: AuditNote;
      /**
       * Answers the same question now, from memory. Returns undefined when the token must be authenticated again.
       * Absent: the token must be authenticated for each request.
       */
      readonly again?: () => TokenResult | undefined;
    }
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly message: string };

/** An answer, or the promise of an answer. An answer from memory is given at once, so that its request does not wait. */
export type Soon<T> = T | Promise<T>;

/** Authenticates one kind of bearer token. */
export interface TokenAuthenticator {
  /** Empty `audiences` mean those of the API server. Never rejects: an unreachable server yields the result `rejected`. */
  authenticateToken(token: string, audiences: readonly string[]): Soon<TokenResult>;
}

/** Authenticates tokens that name no audiences: static and bootstrap tokens. */
export interface UserTokens {
  userOf(token: string): UserInfo | undefined;
}

/** Attributes of a request that an authorizer decides about. Field names are as in SubjectAccessReview. */
export interface Attributes {
  readonly user: UserInfo;
  /**
   * get, list, watch, create, update, patch, delete, deletecollection, or any custom verb. For paths that are no
   * resource: the HTTP method in lower case.
   */
  readonly verb: string;
  readonly path: string;
  /** False for `/healthz` and similar paths: then only verb and path matter. */
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
  /** Whether the chain of authorizers ends with a denial. False: the next authorizer decides. */
  readonly denied: boolean;
  /** Reason as text for people: `RBAC: allowed by ClusterRoleBinding "cluster-admin" of ClusterRole ...`. */
  readonly reason: string;
  /**
   * Error of an authorizer that could not decide. If no authorizer allows the request, it fails with this error
   * instead of a plain refusal.
   */
  readonly error?: string;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Rights of a user in a namespace as far as an authorizer knows them, for SelfSubjectRulesReview. */
export interface Rules {
  readonly rules: readonly ResourceRule[];
  readonly incomplete: boolean;
  /** Why rules are missing, as text for people. Absent: no rule is missing. */
  readonly error?: string;
}

export interface Authorizer {
  /** Never rejects. */
  authorize(attributes: Attributes): Soon<Decision>;
  rulesFor(user: UserInfo, namespace: string): Rules;
}
