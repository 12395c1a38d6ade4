/**
 * Authentication, in order: direct callers (trusted), front proxy, client certificate, bearer token, anonymous.
 *
 * Again  the last token of a connection is remembered (connection-memory.ts).
 * Holds  the first valid credential determines the user, even if others are invalid. Without a valid one, an invalid
 *        credential is 401 even where anonymous is allowed. Every user but anonymous is in system:authenticated.
 *        Nothing here reads a body.
 */
import { aggregateText } from "#api/validation/aggregate.ts";
import { type CarriedToken, tokenOfHeader, tokenOfSubprotocols } from "#platform/bearer-token.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type {
  AuthenticationResult,
  Authenticator,
  Soon,
  TokenAuthenticator,
  TokenResult,
} from "./auth.ts";
import { ConnectionMemory } from "./connection-memory.ts";
import { anonymousName, groups, withAuthenticated } from "./groups.ts";

/** The server's authenticator. TokenReview uses its `authenticateToken` directly. */
export type ServerAuthenticator = Authenticator & TokenAuthenticator;

interface AuthenticateOptions {
  /**
   * Whether a request to the path may come without a credential. It is then system:anonymous and the authorizer
   * decides. Otherwise the answer is 401.
   */
  readonly mayBeAnonymous: (path: string) => boolean;
}

const none = { kind: "none" } as const;
const anonymous: UserInfo = { name: anonymousName, groups: [groups.unauthenticated] };

export function createAuthenticator(
  deps: {
    readonly certificates: Authenticator;
    /** Authenticates front proxies that name the user in headers. Absent: no front proxy is trusted. */
    readonly requestHeaders?: Authenticator;
    readonly tokens: readonly TokenAuthenticator[];
  },
  options: AuthenticateOptions,
): ServerAuthenticator {
  const authenticateToken = (token: string, audiences: readonly string[]): Soon<TokenResult> =>
    firstToken(deps.tokens, token, audiences);
  const memory = new ConnectionMemory();
  const asUser = (request: PlainRequest): Promise<AuthenticationResult> => {
    if (request.peer.kind === "direct") {
      return Promise.resolve({ kind: "user", user: withAuthenticated(request.peer.user) });
    }
    const recalled = memory.recall(request);
    return recalled?.kind === "user"
      ? Promise.resolve(namedBy(recalled))
      : authenticateAnew(request);
  };
  const authenticateAnew = async (request: PlainRequest): Promise<AuthenticationResult> => {
    const byProxy = (await deps.requestHeaders?.authenticate(request)) ?? none;
    if (byProxy.kind === "user") return byProxy;
    const byCertificate = await deps.certificates.authenticate(request);
    if (byCertificate.kind === "user") return byCertificate;
    const byToken = await authenticateCarried(request, authenticateToken, memory);
    if (byToken.kind === "user") return namedBy(byToken);
    const refused = [byProxy, byCertificate, byToken].find(({ kind }) => kind === "rejected");
    if (refused?.kind === "rejected") return refused;
    return options.mayBeAnonymous(request.path) ? { kind: "user", user: anonymous } : none;
  };
  return { authenticateToken, authenticate: asUser };
}

function namedBy({ user, note }: Extract<TokenResult, { kind: "user" }>): AuthenticationResult {
  return note === undefined ? { kind: "user", user } : { kind: "user", user, note };
}

type AuthenticateToken = TokenAuthenticator["authenticateToken"];

/** Authenticates the token of the Authorization header. If it is absent or bad, authenticates the token of the WebSocket subprotocols. */
async function authenticateCarried(
  request: PlainRequest,
  authenticateToken: AuthenticateToken,
  memory: ConnectionMemory,
): Promise<TokenResult> {
  const { headers } = request;
  const byHeader = await authenticateBearer(
    tokenOfHeader(headers["authorization"] ?? ""),
    authenticateToken,
  );
  memory.remember(request, byHeader);
  if (byHeader.kind === "user") return byHeader;
  const bySubprotocol = await authenticateBearer(tokenOfSubprotocols(headers), authenticateToken);
  return bySubprotocol.kind === "none" ? byHeader : bySubprotocol;
}

async function authenticateBearer(
  carried: CarriedToken,
  authenticateToken: AuthenticateToken,
): Promise<TokenResult> {
  if (carried.kind === "none") return none;
  if (carried.kind === "unreadable") return { kind: "rejected", message: carried.message };
  // A token whose bytes are no text is valid for no user.
  const result = carried.token.isWellFormed() ? await authenticateToken(carried.token, []) : none;
  if (result.kind === "user") return result;
  // An unknown token is a bad credential, not the absence of one.
  return result.kind === "rejected" ? result : { kind: "rejected", message: invalidToken };
}

const invalidToken = "invalid bearer token";

/** Returns the result of the first authenticator that knows the token. A rejection does not end the search: another issuer may know it. */
async function firstToken(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[],
): Promise<TokenResult> {
  const refusals: string[] = [];
  for (const authenticator of authenticators) {
    const answer = authenticator.authenticateToken(token, audiences);
    const result = answer instanceof Promise ? await answer : answer;
    if (result.kind === "user") return result;
    if (result.kind === "rejected") refusals.push(result.message);
  }
  if (refusals.length === 0) return { kind: "none" };
  // Upstream asks the authenticator of its own tokens first, which rejects every other token with this message.
  return { kind: "rejected", message: aggregateText([invalidToken, ...refusals]) };
}

/** Returns whether a path is one of `paths`. An entry that ends in `/` covers all paths below it. */
export function anonymousAt(paths: readonly string[] | "all"): (path: string) => boolean {
  if (paths === "all") return () => true;
  return (path) =>
    paths.some((allowed) => (allowed.endsWith("/") ? path.startsWith(allowed) : path === allowed));
}
