/** Kubernetes reads of mirrored resources: authorization, freshness, and fallback to the upstream. */
import { failure } from "#api/status.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { pathSegmentProblem, type RequestInfo } from "#server/request-info.ts";
import { isWebSocket } from "#server/websocket-handshake.ts";
import { type Asked, askedPlace, answerReviewed } from "../access/asked.ts";
import type { Fairness } from "../access/fairness.ts";
import type { KubernetesFrontend } from "./kubernetes-frontend.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { kindId } from "../mirror/mirrored-kind.ts";
import type { MirrorSet } from "../mirror/mirror-set.ts";
import type { OpenStreams } from "../fleet/open-streams.ts";
import type { Shadow } from "../fleet/shadow.ts";
import type { StreamReviewDeps } from "../access/stream-review.ts";

interface MirroredReadsDeps {
  readonly clock: Clock;
  readonly mirrors: MirrorSet;
  readonly frontend: KubernetesFrontend;
  readonly streams: OpenStreams;
  readonly reviews: StreamReviewDeps;
  /** Absent: reads do not queue for seats. */
  readonly fairness: Fairness | undefined;
  /** Absent: reads are not compared with the upstream. */
  readonly shadow: Shadow | undefined;
  readonly stopping: AbortSignal;
}

const readVerbs = new Set(["get", "list", "watch"]);

export class MirroredReads {
  readonly #deps: MirroredReadsDeps;
  /** Maximum time a client waits for the first list. */
  readonly #freshWaitMs: number;

  constructor(deps: MirroredReadsDeps, limits: { readonly freshWaitMs: number }) {
    this.#deps = deps;
    this.#freshWaitMs = limits.freshWaitMs;
  }

  /** Answers a read from the mirror. "pass": the request passes to the upstream. */
  async answer(asked: Asked, info: RequestInfo): Promise<PlainResponse | "pass"> {
    const resource = this.#mirroredRead(asked.request, info);
    if (resource === undefined) return "pass";
    const serve = (): Promise<PlainResponse | "pass"> =>
      this.#answerMirrored(resource, { ...asked, info });
    return this.#deps.fairness?.seated(asked, info, serve) ?? serve();
  }

  #mirroredRead(request: PlainRequest, info: RequestInfo): Mirrored | undefined {
    if (request.method !== "GET" || !info.isResourceRequest || info.subresource !== "")
      return undefined;
    // Only the upstream knows the protocol upgrades of requests other than watches.
    if (request.upgrade !== undefined && !(info.verb === "watch" && isWebSocket(request)))
      return undefined;
    if (!readVerbs.has(info.verb) || info.parts.length > 2) return undefined;
    return this.#deps.mirrors.byId(kindId(info));
  }

  async #answerMirrored(
    resource: Mirrored,
    read: Asked & { readonly info: RequestInfo },
  ): Promise<PlainResponse | "pass"> {
    const { request, info, query, door, caller } = read;
    const { question: asked, place } = askedPlace(resource.kind, info, query);
    // For a path that does not match an object of this kind, the upstream produces the error.
    if (place === undefined || pathSegmentProblem(place.name) !== undefined) return "pass";
    await door.authorize(caller, asked);
    // A resource that the relay cannot mirror passes through.
    const { mirror, upstream } = resource;
    if (mirror.closed) return "pass";
    if (upstream.passes || (!mirror.ready && !this.#deps.mirrors.isAwaited(resource)))
      return "pass";
    await this.#untilServing(resource, request);
    if (info.verb === "watch") this.#deps.streams.admit();
    const response = await this.#deps.frontend.answer({
      resource,
      request,
      verb: info.verb,
      place,
      query,
      holding: read.holding,
      callerName: caller?.name ?? "",
    });
    if (response === "pass") return response;
    if (response.kind === "stream")
      return answerReviewed(this.#deps.reviews, response, read, [asked]);
    const { verb } = info;
    void this.#deps.shadow?.look({ resource: kindId(resource.kind), verb, ...read }, response);
    return response;
  }

  /** Waits for the first list within a time limit. Throws 503 when there is still none, or the mirror has ended. */
  async #untilServing(resource: Mirrored, request: PlainRequest): Promise<void> {
    const { mirror } = resource;
    if (mirror.ready && !mirror.closed) return;
    const late = AbortSignal.any([request.signal, this.#deps.stopping]);
    const endMs = this.#deps.clock.monotonicMs() + this.#freshWaitMs;
    while (
      !mirror.ready &&
      !mirror.closed &&
      !late.aborted &&
      this.#deps.clock.monotonicMs() < endMs
    ) {
      await sleep(this.#deps.clock, "relay.fresh", 20, late);
    }
    if (mirror.ready && !mirror.closed) return;
    const text = `the relay has not yet listed ${kindId(resource.kind)} from its upstream`;
    throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
  }
}
