/** Polls of lists and named views: their paths, authorization, and the ETag frontend that answers. */
import { badRequest, failure, notFound } from "#api/status.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { requestInfo } from "#server/request-info.ts";
import { textResponse } from "#server/respond.ts";
import type { Question } from "../access/question.ts";
import { type Asked, askedPlace, answerReviewed } from "../access/asked.ts";
import { asksForEvents, type EtagFrontend, type EtagRead } from "./etag-frontend.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { collectionPath, kindId } from "../mirror/mirrored-kind.ts";
import type { MirrorSet } from "../mirror/mirror-set.ts";
import type { NamedView } from "../views/named-view.ts";
import type { OpenStreams } from "../fleet/open-streams.ts";
import { selectorsOf } from "../kubernetes/read-query.ts";
import type { StreamReviewDeps } from "../access/stream-review.ts";
import type { View } from "../views/view.ts";

interface PollsDeps {
  readonly mirrors: MirrorSet;
  /** Of the operator's file, those whose resource is mirrored by now; all their names. */
  readonly views: ReadonlyMap<string, NamedView>;
  readonly viewNames: ReadonlySet<string>;
  readonly frontend: EtagFrontend;
  readonly streams: OpenStreams;
  readonly reviews: StreamReviewDeps;
}

const etagPrefix = "/etag";
const viewsPrefix = "/views/";

export class Polls {
  readonly #deps: PollsDeps;

  constructor(deps: PollsDeps) {
    this.#deps = deps;
  }

  /** The path of the list that a poll reads; undefined: it is no poll. */
  listPath(path: string): string | undefined {
    if (path.startsWith(`${etagPrefix}/`)) return path.slice(etagPrefix.length);
    if (!path.startsWith(viewsPrefix)) return undefined;
    const [name = ""] = path.slice(viewsPrefix.length).split("/");
    const view = this.#deps.views.get(name);
    return view === undefined ? undefined : collectionPath(view.resource.kind);
  }

  /** Undefined: it is none. */
  answer(asked: Asked): Promise<PlainResponse> | undefined {
    const { path } = asked.request;
    if (path.startsWith(`${etagPrefix}/`)) return this.#answerEtag(asked);
    return path.startsWith(viewsPrefix) ? this.#answerView(asked) : undefined;
  }

  async #answerEtag(read: Asked): Promise<PlainResponse> {
    const { request, query } = read;
    if (!isPoll(request)) return pollsOnly();
    const path = request.path.slice(etagPrefix.length);
    const info = requestInfo("GET", path, new URLSearchParams());
    const resource = this.#deps.mirrors.byId(kindId(info));
    if (resource === undefined || info.verb !== "list" || info.parts.length !== 1) {
      throw notFound({ group: info.group, resource: info.resource || path }, "");
    }
    const selectors = selectorsOf(resource.kind, query);
    if (selectors === "pass") throw badRequest("the selector does not parse, or names no field");
    const labels = query.get("labelSelector") ?? "";
    const { question: asked, place } = askedPlace(resource.kind, info, query);
    // The answer tells of changes as well, so it takes the right to both.
    const questions = [asked, { ...asked, verb: "watch" }];
    if (place === undefined) {
      for (const one of questions) await read.door.authorize(read.caller, one);
      throw notFound({ group: info.group, resource: path }, "");
    }
    const view = (): View => resource.views.get(place, labels, selectors);
    return this.#answerPoll(read, { resource, view, zone: "" }, questions);
  }

  async #answerView(read: Asked): Promise<PlainResponse> {
    const { request } = read;
    const [name = "", zone = "", ...more] = request.path.slice(viewsPrefix.length).split("/");
    const named = this.#deps.views.get(name);
    if (named === undefined && this.#deps.viewNames.has(name)) {
      throw failure(503, "ServiceUnavailable", `the resource of view ${name} is not mirrored yet`);
    }
    if (named === undefined || more.length > 0) {
      throw notFound({ group: "", resource: "views" }, name);
    }
    if (!isPoll(request)) return pollsOnly();
    const poll = { resource: named.resource, view: () => named.view(), zone };
    return this.#answerPoll(read, poll, named.questions());
  }

  async #answerPoll(
    read: Asked,
    poll: Pick<EtagRead, "resource" | "view" | "zone">,
    questions: readonly Question[],
  ): Promise<PlainResponse> {
    const { request, query, door, caller } = read;
    for (const asked of questions) await door.authorize(caller, asked);
    if (!poll.resource.mirror.ready) return notListed(poll.resource);
    if (asksForEvents(request)) this.#deps.streams.admit();
    const allowed = door.recall(request, caller, questions);
    const response = await this.#deps.frontend.answer({ ...poll, request, query, allowed });
    return answerReviewed(this.#deps.reviews, response, read, questions);
  }
}

function isPoll({ method }: PlainRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function pollsOnly(): PlainResponse {
  const text = "lists and views for pollers take GET and HEAD only\n";
  return textResponse(405, text, { allow: "GET, HEAD" });
}

/** Pollers come again by themselves; none is kept waiting for the first list. */
function notListed({ kind }: Mirrored): PlainResponse {
  const text = `the relay has not yet listed ${kindId(kind)} from its upstream\n`;
  return textResponse(503, text, { "retry-after": "1" });
}
