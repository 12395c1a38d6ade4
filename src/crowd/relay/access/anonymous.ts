/**
 * Requests without credentials. Whether they are anonymous or nobody's is for the upstream to say: it may
 * take anonymous requests everywhere, at some paths, or nowhere, and then answers 401 whatever rights
 * system:anonymous was given. The relay asks it the way anybody can: a HEAD of the path without
 * credentials, which reads nothing and is authenticated like every other method.
 *
 * Holds  nothing is answered to a request without credentials where the upstream said 401, or has not
 *        answered. What system:anonymous may do there is asked as for any other user.
 * Bounds as of all reviews (review-cache.ts): asked once per path and `allowedMs` or `deniedMs`.
 */
import { encodePath } from "#client/path.ts";
import { ByteTransportError, type ByteTransport } from "#platform/byte-transport.ts";
import type { Clock } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { RelayLimits } from "../limits.ts";
import { ReviewCache, type ReviewCounts } from "./review-cache.ts";

/** A caller without credentials. */
export interface Nobody extends UserInfo {
  readonly address: string;
}

export function nobodyAt(address: string): Nobody {
  return { name: "system:anonymous", groups: ["system:unauthenticated"], address };
}

/** Tells an anonymous caller by its type, not by its name: a certificate may carry the same name. */
export function isNobody(user: UserInfo): user is Nobody {
  return "address" in user;
}

export class AnonymousPaths {
  readonly #http: ByteTransport;
  readonly #admitted: ReviewCache<boolean>;

  /** @param deps `anonymousHttp` sends requests without the relay's own credential. */
  constructor(
    deps: { readonly clock: Clock; readonly anonymousHttp: ByteTransport },
    limits: RelayLimits,
  ) {
    this.#http = deps.anonymousHttp;
    this.#admitted = new ReviewCache(deps, limits, (isAdmitted) => isAdmitted);
  }

  get counts(): ReviewCounts {
    return this.#admitted.counts;
  }

  /** Whether the answer is cached, or was a yes before: then the question does not count as a new attempt of the client. */
  isKnown(path: string): boolean {
    return this.#admitted.isKnown(path);
  }

  /** Rejects when the upstream cannot be asked. */
  isAdmitted(path: string): Promise<boolean> {
    return this.#admitted.get(path, () => this.#ask(path));
  }

  recall(path: string): () => boolean {
    return this.#admitted.recall(path, () => this.#ask(path));
  }

  async #ask(path: string): Promise<boolean> {
    const response = await this.#http.send({
      method: "HEAD",
      target: encodePath(path),
      headers: {},
      signal: new AbortController().signal,
    });
    await response.read(0);
    const { status } = response;
    // A server error or 429 does not say whether the upstream accepts requests without credentials.
    if (status >= 500 || status === 429) {
      throw new ByteTransportError(`the upstream answers ${status} without credentials`, "EBUSY");
    }
    return status !== 401;
  }
}
