/**
 * Authentication and authorization of clients: the upstream decides both; the relay caches answers for seconds.
 *
 *   certificate   verified by the listener against the shared authority; names and groups are in it
 *   bearer token  TokenReview
 *   neither       nobody, until the upstream takes such requests at the path (anonymous.ts); then
 *                 system:anonymous, for whom it has rules as for anybody
 *   may they      SubjectAccessReview with what the request says, selectors included
 *
 * Holds  no byte of a mirrored object leaves before the upstream said yes to this user, this verb and
 *        this place; a bad credential is 401 even where anonymous is allowed. Credentials nobody vouches
 *        for are asked about within a budget (refusal-budget.ts), then 429.
 */
import { hash } from "node:crypto";
import { type ApiError, failure, forbidden } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { resourcePath } from "#client/path.ts";
import { tokenOfHeader, tokenOfSubprotocols } from "#platform/bearer-token.ts";
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import { nextTurn } from "#platform/pace.ts";
import type { RelayLimits } from "../limits.ts";
import { AnonymousPaths, isNobody, type Nobody, nobodyAt } from "./anonymous.ts";
import { isImpersonating } from "./impersonation.ts";
import type { Authorizer, Question } from "./question.ts";
import { RefusalBudget, type RefusalCounts } from "./refusal-budget.ts";
import { isOwnRefusal, ReviewCache, type ReviewCounts } from "./review-cache.ts";
import { UpstreamReadiness } from "./upstream-readiness.ts";

/** Identifies the peer of a connection by its certificate; auth's certificate authenticator implements this interface. */
export interface PeerIdentity {
  authenticate(
    request: PlainRequest,
  ): Promise<
    | { readonly kind: "user"; readonly user: UserInfo }
    | { readonly kind: "none" }
    | { readonly kind: "rejected"; readonly message: string }
  >;
  /**
   * Returns a check whether the same user would be identified again on the same connection; undefined for a request
   * without such a user.
   */
  recall?(request: PlainRequest): (() => boolean) | undefined;
}

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
}

type Extra = Readonly<Record<string, readonly string[]>>;

const authenticatedGroup = "system:authenticated";
/** Number of reviews sent at once. Further ones are sent one per turn of the loop: each may open a TLS connection, 1.5 ms of CPU. */
const askedTogether = 4;
const cutCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

interface AccessDeps {
  readonly clock: Clock;
  /** Client with the relay's own identity, which may create reviews. */
  readonly client: Client;
  /** Transport that sends requests without credentials. */
  readonly anonymousHttp: ByteTransport;
  readonly peers: PeerIdentity;
}

export class Access implements Authorizer {
  readonly #deps: AccessDeps;
  readonly #tokens: ReviewCache<UserInfo | undefined>;
  readonly #decisions: ReviewCache<Answer>;
  readonly #anonymous: AnonymousPaths;
  readonly #budget: RefusalBudget;
  readonly #readiness: UpstreamReadiness;
  /** Number of reviews in flight. */
  #asking = 0;

  constructor(deps: AccessDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#tokens = new ReviewCache(deps, limits, (user) => user !== undefined);
    this.#decisions = new ReviewCache(deps, limits, (answer) => answer.allowed);
    this.#anonymous = new AnonymousPaths(deps, limits);
    this.#budget = new RefusalBudget(deps, limits);
    this.#readiness = new UpstreamReadiness(deps);
  }

  get tokenCounts(): ReviewCounts {
    return this.#tokens.counts;
  }

  get decisionCounts(): ReviewCounts {
    return this.#decisions.counts;
  }

  get anonymousCounts(): ReviewCounts {
    return this.#anonymous.counts;
  }

  get refusalCounts(): RefusalCounts {
    return this.#budget.counts;
  }

  /** Throws 401 for an unknown credential, 429 after too many of them, 503 when the upstream cannot be asked. */
  async identify(request: PlainRequest): Promise<UserInfo> {
    const { peer } = request;
    if (peer.kind === "direct") return peer.user;
    const byCertificate = await this.#deps.peers.authenticate(request);
    if (byCertificate.kind === "user") return byCertificate.user;
    const token = bearerToken(request);
    if (token !== undefined) return this.#identifyToken(token, peer.address);
    if (byCertificate.kind === "rejected" || peer.certificateProblem !== undefined)
      throw unauthorized();
    return nobodyAt(peer.address);
  }

  async #identifyToken(token: string, address: string): Promise<UserInfo> {
    if (!token.isWellFormed()) throw unauthorized();
    const key = tokenKey(token);
    const ask = (): Promise<UserInfo | undefined> =>
      this.#tokens.get(key, () => this.#reviewToken(token)).catch(unavailable);
    const isSomebody = (user: UserInfo | undefined): boolean => user !== undefined;
    const user = this.#tokens.isKnown(key)
      ? await ask()
      : await this.#budget.spend(address, ask, isSomebody);
    if (user === undefined) throw unauthorized();
    return user;
  }

  /**
   * Throws 401 when the upstream refuses requests without credentials at this path, 429 after too many refusals, 503
   * when it cannot be asked.
   */
  async admitNobody({ address }: Nobody, path: string): Promise<void> {
    const ask = (): Promise<boolean> => this.#anonymous.isAdmitted(path).catch(unavailable);
    const isAdmitted = this.#anonymous.isKnown(path)
      ? await ask()
      : await this.#budget.spend(address, ask, Boolean);
    if (!isAdmitted) throw unauthorized();
  }

  /** Throws 403 in the upstream's wording when it denies the request, 503 when the upstream cannot be asked. */
  async authorize(user: UserInfo, question: Question): Promise<void> {
    if (isNobody(user)) await this.admitNobody(user, pathOf(question));
    const answer = await this.#decide(reviewSpec(user, attributes(question)));
    if (!answer.allowed) throw refused(user, question, answer.reason);
  }

  /**
   * Whether `identify` and `authorize` would say yes to the same request again, on its connection, from
   * memory alone. Acting as another is asked anew each time.
   */
  recall(request: PlainRequest, user: UserInfo, questions: readonly Question[]): () => boolean {
    const { peer } = request;
    if (peer.kind !== "socket" || isImpersonating(request)) return () => false;
    const checks = questions.map((asked) => {
      const spec = reviewSpec(user, attributes(asked));
      return this.#decisions.recall(decisionKey(spec), () => this.#review(spec));
    });
    if (isNobody(user)) checks.push(...questions.map((one) => this.#anonymous.recall(pathOf(one))));
    checks.push(this.#recallUser(request, peer.certificate !== undefined));
    return () => checks.every((isAllowed) => isAllowed());
  }

  #recallUser(request: PlainRequest, hasCertificate: boolean): () => boolean {
    const byCertificate = this.#deps.peers.recall?.(request);
    if (byCertificate !== undefined) return byCertificate;
    const token = bearerToken(request);
    if (token !== undefined)
      return this.#tokens.recall(tokenKey(token), () => this.#reviewToken(token));
    // The anonymous user is always the same; a certificate without `recall` must be authenticated again.
    return () => !hasCertificate;
  }

  async authorizePath(user: UserInfo, path: string): Promise<void> {
    if (isNobody(user)) await this.admitNobody(user, path);
    const answer = await this.#decide(
      reviewSpec(user, { nonResourceAttributes: { path, verb: "get" } }),
    );
    if (answer.allowed) return;
    const text = `forbidden: User ${JSON.stringify(user.name)} cannot get path ${JSON.stringify(path)}`;
    throw failure(403, "Forbidden", text, {});
  }

  #decide(spec: object): Promise<Answer> {
    return this.#decisions.get(decisionKey(spec), () => this.#review(spec)).catch(unavailable);
  }

  async #review(spec: object): Promise<Answer> {
    const ref = { group: "authorization.k8s.io", version: "v1", resource: "subjectaccessreviews" };
    const apiVersion = "authorization.k8s.io/v1";
    const made = await this.#create(ref, { apiVersion, kind: "SubjectAccessReview", spec });
    const { allowed = false, denied = false, reason = "" } = made.status ?? {};
    return { allowed: allowed && !denied, reason };
  }

  /**
   * Once more after a cut: nothing is stored, so a review that was answered unseen does no harm. A refusal
   * of the relay itself by an upstream that is starting or ending is no verdict: it may not know its rules yet.
   */
  async #create(ref: ResourceRef, review: ReviewObject): Promise<ReviewObject> {
    const create = (): Promise<ReviewObject> => this.#deps.client.create(ref, "", review);
    if (this.#asking >= askedTogether) await nextTurn(this.#deps.clock);
    this.#asking++;
    try {
      return await create().catch((error: unknown) => {
        if (!isCut(error)) throw error;
        return create();
      });
    } catch (error) {
      if (!isOwnRefusal(error) || (await this.#readiness.isReady())) throw error;
      const text = `the upstream is not ready, and refuses the relay: ${error.message}`;
      throw new ByteTransportError(text, "EBUSY", { cause: error });
    } finally {
      this.#asking--;
    }
  }

  async #reviewToken(token: string): Promise<UserInfo | undefined> {
    const ref = { group: "authentication.k8s.io", version: "v1", resource: "tokenreviews" };
    const apiVersion = "authentication.k8s.io/v1";
    const made = await this.#create(ref, { apiVersion, kind: "TokenReview", spec: { token } });
    const { authenticated = false, user } = made.status ?? {};
    // An empty user name is refused: for that user the relay would send requests under its own identity.
    if (!authenticated || user?.username === undefined || user.username === "") return undefined;
    const { username: name, uid, groups = [], extra } = user;
    return {
      name,
      groups: groups.includes(authenticatedGroup) ? groups : [...groups, authenticatedGroup],
      ...(uid === undefined || uid === "" ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
    };
  }
}

/** Whether the error is typical of a kept connection that the upstream has just closed, by a restart or an idle timeout. */
function isCut(error: unknown): boolean {
  return error instanceof ByteTransportError && cutCodes.has(error.code);
}

/** The fields that the relay reads of a TokenReview or a SubjectAccessReview. */
interface ReviewObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: object;
  readonly status?: {
    readonly allowed?: boolean;
    readonly denied?: boolean;
    readonly reason?: string;
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Extra;
    };
  };
}

/** Returns the request path that belongs to a question, in the upstream's form. */
function pathOf(question: Question): string {
  const { verb, group, version, resource, subresource } = question;
  // A Namespace is authorised within itself, but its path has no namespace. A list may have a name from a selector.
  const namespace = group === "" && resource === "namespaces" ? "" : question.namespace;
  const name = verb === "list" || verb === "watch" ? "" : question.name;
  return resourcePath({ group, version, resource }, namespace, name, subresource);
}

function tokenKey(token: string): string {
  return hash("sha256", token, "base64");
}

/**
 * Maximum length of a cache key that is kept as text; longer ones are hashed. Names, groups and place fit. Selectors
 * may not: a request may have 64 KB of them, and the cache has `reviewsMax` keys.
 */
const keyTextMax = 2_048;

function decisionKey(spec: object): string {
  const text = JSON.stringify(spec);
  return text.length <= keyTextMax ? text : hash("sha256", text, "base64");
}

function reviewSpec({ name, uid, groups, extra }: UserInfo, what: object): object {
  return {
    ...what,
    user: name,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

function attributes(question: Question): object {
  const { verb, group, version, resource, subresource, namespace, name } = question;
  const { fieldSelector = "", labelSelector = "" } = question;
  return {
    resourceAttributes: {
      verb,
      group,
      version,
      resource,
      ...given({ subresource, namespace, name }),
      ...(fieldSelector === "" ? {} : { fieldSelector: { rawSelector: fieldSelector } }),
      ...(labelSelector === "" ? {} : { labelSelector: { rawSelector: labelSelector } }),
    },
  };
}

function bearerToken({ headers }: PlainRequest): string | undefined {
  const inHeader = tokenOfHeader(headers["authorization"] ?? "");
  const carried = inHeader.kind === "none" ? tokenOfSubprotocols(headers) : inHeader;
  if (carried.kind === "unreadable") throw unauthorized();
  return carried.kind === "token" ? carried.token : undefined;
}

function given(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

function unauthorized(): ApiError {
  return failure(401, "Unauthorized", "Unauthorized");
}

function refused(user: UserInfo, question: Question, reason: string): ApiError {
  const { verb, group, resource, subresource, namespace, name } = question;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const why = `User ${JSON.stringify(user.name)} cannot ${verb} resource "${what}" in API group "${group}" ${where}`;
  return forbidden({ group, resource }, name, reason === "" ? why : `${why}: ${reason}`);
}

/** Throws 503: a failure between the relay and its upstream is not a verdict on the client. */
function unavailable(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  const text = `the relay cannot ask its upstream who may do this: ${why}`;
  throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
}
