/**
 * Authentication, in order: direct callers (trusted), front proxy, client certificate, bearer token, anonymous.
 *
 * Holds  a bad credential is 401 even where anonymous is allowed; every user but anonymous is in
 *        system:authenticated; nothing here reads a body.
 */
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type {
  AuthenticationResult,
  Authenticator,
  TokenAuthenticator,
  TokenResult,
} from "./auth.ts";
import { anonymousName, groups, withAuthenticated } from "./groups.ts";
import { strictBase64url } from "./jwt.ts";

/** The server's authenticator; TokenReview asks its tokens directly. */
export type ServerAuthenticator = Authenticator & TokenAuthenticator;

interface AuthenticateOptions {
  /**
   * Paths anonymous may ask for; one that ends in `/` covers what lies below. "all": the authorizer
   * decides. Anything else is 401.
   */
  readonly anonymousPaths: readonly string[] | "all";
}

const none: AuthenticationResult = { kind: "none" };
const anonymous: UserInfo = { name: anonymousName, groups: [groups.unauthenticated] };

/** Bearer tokens of WebSocket clients, which cannot set headers, come as a subprotocol. */
const subprotocolPrefix = "base64url.bearer.authorization.k8s.io.";

export function createAuthenticator(
  deps: {
    readonly certificates: Authenticator;
    /** Front proxies that name the user; absent: none is believed. */
    readonly requestHeaders?: Authenticator;
    readonly tokens: readonly TokenAuthenticator[];
  },
  options: AuthenticateOptions,
): ServerAuthenticator {
  const authenticateToken = (token: string, audiences: readonly string[]): TokenResult =>
    firstToken(deps.tokens, token, audiences);
  return {
    authenticateToken,
    async authenticate(request: PlainRequest): Promise<AuthenticationResult> {
      if (request.peer.kind === "direct") {
        return { kind: "user", user: withAuthenticated(request.peer.user) };
      }
      const byProxy = (await deps.requestHeaders?.authenticate(request)) ?? none;
      if (byProxy.kind === "user") return byProxy;
      const byCertificate = await deps.certificates.authenticate(request);
      if (byCertificate.kind !== "none") return byCertificate;
      const token = bearerToken(request);
      if (token !== undefined && !token.isWellFormed()) return authenticateBearer({ kind: "none" });
      if (token !== undefined) return authenticateBearer(authenticateToken(token, []));
      if (byProxy.kind === "rejected") return byProxy;
      return anonymousMay(options.anonymousPaths, request.path)
        ? { kind: "user", user: anonymous }
        : { kind: "none" };
    },
  };
}

function authenticateBearer(result: TokenResult): AuthenticationResult {
  if (result.kind === "user") return { kind: "user", user: result.user };
  // An unknown token is a bad credential, not the absence of one.
  return result.kind === "rejected"
    ? result
    : { kind: "rejected", message: "invalid bearer token" };
}

/** A rejection does not end the round: another issuer may know the token. */
function firstToken(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[],
): TokenResult {
  const refusals: string[] = [];
  for (const authenticator of authenticators) {
    const result = authenticator.authenticateToken(token, audiences);
    if (result.kind === "user") return result;
    if (result.kind === "rejected") refusals.push(result.message);
  }
  if (refusals.length === 0) return { kind: "none" };
  return { kind: "rejected", message: refusals.join(", ") };
}

/** The token a request carries, or undefined when it carries none. */
function bearerToken(request: PlainRequest): string | undefined {
  const header = request.headers["authorization"] ?? "";
  const match = /^Bearer +(\S+)\s*$/i.exec(header);
  if (match !== null) return match[1];
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  const encoded = offered.split(",").map((protocol) => protocol.trim());
  const found = encoded.find((protocol) => protocol.startsWith(subprotocolPrefix));
  if (found === undefined) return undefined;
  const text = found.slice(subprotocolPrefix.length);
  // What is no base64url is a token that nobody vouches for, not the lack of one.
  return strictBase64url(text)?.toString("utf8") ?? text;
}

function anonymousMay(paths: readonly string[] | "all", path: string): boolean {
  if (paths === "all") return true;
  return paths.some((allowed) =>
    allowed.endsWith("/") ? path.startsWith(allowed) : path === allowed,
  );
}
