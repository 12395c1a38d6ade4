/** The authenticators and authorizers of a server, wired over its own caches. */
import type { Access } from "#admission/access.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import { forApiServer } from "#auth/audiences.ts";
import { anonymousAt, createAuthenticator, type ServerAuthenticator } from "#auth/authenticate.ts";
import type { Authorizer, TokenAuthenticator } from "#auth/auth.ts";
import { bootstrapClusterRoleRules } from "#auth/bootstrap-policy.ts";
import { BootstrapTokens } from "#auth/bootstrap-token.ts";
import { escalationError } from "#auth/escalation.ts";
import { NodeAuthorizer } from "#auth/node-authorizer.ts";
import type { Pki } from "#auth/pki-files.ts";
import { discoveryDocument, keySet } from "#auth/oidc.ts";
import type { IssuerFacts } from "#apiserver/issuer-http.ts";
import { given } from "#base/given.ts";
import type { LegacyTokens } from "#controllers/serviceaccount/token-controller.ts";
import { RequestHeaderAuthenticator, type RequestHeaderOptions } from "#auth/request-header.ts";
import { RbacAuthorizer } from "#auth/rbac.ts";
import { ServiceAccountTokens } from "#auth/service-account-token.ts";
import type { StaticTokens } from "#auth/token-file.ts";
import { serveTokenRequest, type TokenLifetimes } from "#auth/token-request.ts";
import { CertificateAuthenticator } from "#auth/x509.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { type Issuers, openIssuers } from "./authentication/issuers.ts";
import type { AuthenticationSetup } from "./authentication/setup.ts";
import { type TokenWebhookSetup, webhookTokens } from "./authentication/token-webhook.ts";
import { reloadObserver } from "./authentication/metrics.ts";
import { openAuthorizers } from "./authorization/authorizers.ts";
import type { AuthorizationSetup } from "./authorization/setup.ts";
import { legacyUseNoter } from "./legacy-use.ts";
import { renewedFiles } from "./renewed-files.ts";

/** Upstream's default issuer for clusters that name none. */
export const issuerDefault = "https://kubernetes.default.svc.cluster.local";
const policyKinds = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"].map(
  (resource) => ({ group: "rbac.authorization.k8s.io", resource }),
);

/** Files of public keys in PEM that check service account tokens. */
export interface TokenKeyFiles {
  readonly paths: readonly string[];
  /** Throws when the files cannot be used. */
  readonly read: () => readonly string[];
}

interface AccessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly lookup: Lister;
  readonly registry: OpenRegistry;
  readonly log: Log;
  readonly pki: Pki;
  readonly metrics: MetricSet;
  readonly staticTokens?: StaticTokens;
  /** Trusted front proxies. Absent: none is trusted. */
  readonly frontProxy?: RequestHeaderOptions;
  /** Paths that anonymous requests may use, where the configuration of `authentication` does not define them. */
  readonly anonymousPaths: readonly string[] | "all";
  /** Issuers of tokens. Absent: none. */
  readonly authentication?: AuthenticationSetup;
  /** ID of this server, in metrics. */
  readonly serverId: string;
  /** By fingerprint: whether the certificate is one that this server presents as a client. Absent: none is. */
  readonly isOwnCertificate?: (fingerprint: string) => boolean;
  /** Configured authorizers. Absent: Node and RBAC. */
  readonly authorization?: AuthorizationSetup;
  /** Whether tokens of bootstrap Secrets are accepted. Absent: they are. */
  readonly hasBootstrapTokens?: boolean;
  /** Issuer of service account tokens. Absent: upstream's default. */
  readonly issuer?: string;
  /** Further issuers whose service account tokens are accepted. Absent: none. */
  readonly olderIssuers?: readonly string[];
  /** URL of the key set, in the discovery document. Absent: a path of the issuer. */
  readonly keysUrl?: string;
  /** Keys that check service account tokens beside the signing key. Absent: those of `pki`, which do not change. */
  readonly tokenKeyFiles?: TokenKeyFiles;
  /** Limits of the lifetime of service account tokens. Absent: tokens live as long as requested. */
  readonly tokenLifetimes?: TokenLifetimes;
  /** Audiences of tokens for this server. Absent: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** Webhook that reviews tokens unknown to this server. Absent: none. */
  readonly tokenWebhook?: TokenWebhookSetup;
}

/** Upstream's histogram of the remaining lifetime of clients' certificates, in seconds. */
function lifetimeLeft(metrics: MetricSet): (seconds: number) => void {
  const histogram = metrics.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "[ALPHA] What was left of the lifetime of the certificate that a request was authenticated with.",
    [],
    [0, 0.5, 1, 2, 6, 12, ...[1, 2, 4, 7, 30, 90, 180, 360].map((days) => days * 24)].map(
      (hours) => hours * 3_600,
    ),
  );
  return (seconds) => histogram.observe([], seconds);
}

const localAuthorizers = [
  { type: "Node", name: "node" },
  { type: "RBAC", name: "rbac" },
] as const;

export interface ServerAccess {
  readonly authenticator: ServerAuthenticator;
  readonly authorizer: Authorizer;
  /** Access checks for admission plugins. */
  readonly access: Access;
  /** Public facts by which other programs check service account tokens. */
  readonly issuer: IssuerFacts;
  readonly mintToken: (
    namespace: string,
    name: string,
    request: AnyObject,
    warn: (text: string) => void,
  ) => AnyObject;
  /** Mints the legacy tokens that Secrets hold. */
  readonly mintLegacyToken: LegacyTokens["mint"];
  /** Closes the connections to issuers. */
  close(): void;
}

/** Without a configuration of authentication the metrics of its reload are there, without series. */
function issuersOf(deps: AccessDeps, apiAudiences: readonly string[]): Issuers | undefined {
  const { authentication } = deps;
  if (authentication !== undefined) return openIssuers(deps, authentication, apiAudiences);
  reloadObserver(deps, "authentication", undefined);
  return undefined;
}

export function serverAccess(deps: AccessDeps): ServerAccess {
  const { lookup, frontProxy } = deps;
  const tokens = serviceAccountTokens(deps);
  const { apiAudiences, issuer } = tokens;
  const issuers = issuersOf(deps, apiAudiences);
  const authenticator = createAuthenticator(
    {
      certificates: new CertificateAuthenticator({
        clock: deps.clock,
        observeLeft: lifetimeLeft(deps.metrics),
        ...given({ isOwn: deps.isOwnCertificate }),
      }),
      ...(frontProxy === undefined
        ? {}
        : { requestHeaders: new RequestHeaderAuthenticator(deps, frontProxy) }),
      tokens: tokenAuthenticators(deps, tokens, issuers),
    },
    { mayBeAnonymous: anonymousRule(deps.anonymousPaths, issuers) },
  );
  const rbac = new RbacAuthorizer({ lookup, policyVersion: changesOf(deps.registry, policyKinds) });
  const nodes = new NodeAuthorizer({ lookup, rules: bootstrapClusterRoleRules("system:node") });
  const authorizers = openAuthorizers(
    { ...deps, node: nodes, rbac },
    deps.authorization ?? { first: localAuthorizers },
  );
  const { authorizer } = authorizers;
  return {
    authenticator,
    authorizer,
    access: accessOf(authorizer, rbac),
    issuer: () => ({
      discovery: discoveryDocument(issuer, deps.keysUrl, tokens.keys),
      keys: keySet(tokens.keys),
    }),
    mintToken: (namespace, name, request, warn) => {
      const { tokenLifetimes: lifetimes } = deps;
      return serveTokenRequest(
        { ...deps, tokens, warn, ...given({ lifetimes }) },
        namespace,
        name,
        request,
      );
    },
    mintLegacyToken: (namespace, account, secretName) =>
      tokens.issueLegacy({ namespace, account, secretName }),
    close() {
      issuers?.close();
      deps.tokenWebhook?.connection.close();
      authorizers.close();
    },
  };
}

/** Counts the use of tokens that are valid for longer than requested. */
function extendedUseCounter(metrics: MetricSet): (isStale: boolean) => void {
  const stale = metrics.counter(
    "serviceaccount_stale_tokens_total",
    "[ALPHA] Cumulative stale projected service account tokens used",
    [],
  );
  const valid = metrics.counter(
    "serviceaccount_valid_tokens_total",
    "[ALPHA] Cumulative valid projected service account tokens used",
    [],
  );
  return (isStale) => (isStale ? stale : valid).add([]);
}

function serviceAccountTokens(deps: AccessDeps): ServiceAccountTokens {
  const { pki, issuer = issuerDefault, olderIssuers = [] } = deps;
  return new ServiceAccountTokens(deps, {
    issuer,
    olderIssuers,
    apiAudiences: deps.apiAudiences ?? [issuer, ...olderIssuers],
    privateKey: pki.serviceAccount.privateKey,
    olderPublicKeys: olderKeys(deps),
    legacyUsed: legacyUseNoter(deps),
    extendedUsed: extendedUseCounter(deps.metrics),
  });
}

/** Returns the older keys. Keys of the data directory are read once, an operator's files again after a change. */
function olderKeys({ clock, pki, tokenKeyFiles }: AccessDeps): () => readonly string[] {
  const first = pki.serviceAccount.olderPublicKeys;
  return tokenKeyFiles === undefined
    ? () => first
    : renewedFiles(clock, { ...tokenKeyFiles, first });
}

/** Returns the authenticators in upstream's order: local ones first, then those that call other servers. */
function tokenAuthenticators(
  deps: AccessDeps,
  tokens: ServiceAccountTokens,
  issuers: Issuers | undefined,
): readonly TokenAuthenticator[] {
  const { apiAudiences } = tokens;
  const { staticTokens, hasBootstrapTokens = true, tokenWebhook } = deps;
  const all: TokenAuthenticator[] = [];
  if (staticTokens !== undefined) all.push(forApiServer(staticTokens, apiAudiences));
  all.push(tokens);
  if (hasBootstrapTokens) all.push(forApiServer(new BootstrapTokens(deps), apiAudiences));
  if (issuers !== undefined) all.push(issuers.tokens);
  if (tokenWebhook !== undefined) all.push(webhookTokens(deps, tokenWebhook, apiAudiences));
  return all;
}

/** The configuration file overrides the flag where it defines a rule. */
function anonymousRule(
  paths: readonly string[] | "all",
  issuers: Issuers | undefined,
): (path: string) => boolean {
  const byFlag = anonymousAt(paths);
  return (path) => issuers?.mayBeAnonymous(path) ?? byFlag(path);
}

/** Returns a number that changes with every object of `kinds`, so that data compiled from them is rebuilt. */
export function changesOf(registry: OpenRegistry, kinds: readonly GroupResource[]): () => number {
  const caches = kinds.map((kind) => registry.cache(kind));
  return () => {
    // A cache that began anew may hold another state without a later change; neither number ever falls. Kinds may
    // live in different stores, so their revisions are added, not compared.
    let changes = 0;
    for (const { state } of caches) changes += state.changedAt + state.resets;
    return changes;
  };
}

function accessOf(authorizer: Authorizer, rbac: RbacAuthorizer): Access {
  return {
    isAllowed: async (question) => {
      const asked = { path: "", isResourceRequest: true, version: "*", subresource: "" };
      return (await authorizer.authorize({ ...asked, ...question })).allowed;
    },
    escalation: (write) => escalationError({ authorizer, rbac }, write),
  };
}
