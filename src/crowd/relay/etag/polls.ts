/** Polls of lists and named views: their paths, their authorization, and their answers by the ETag frontend. */
import { badRequest, failure, notFound } from "#api/status.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { requestInfo } from "#server/request-info.ts";
import { textResponse } from "#server/respond.ts";
import type { Question } from "../access/question.ts";
import { type Asked, askedPlace, answerReviewed } from "../access/asked.ts";
import { asksForEvents, type EtagFrontend, type EtagRead } from "./etag-frontend.ts";
import { kindId } from "../mirror/mirrored-kind.ts";
import type { MirrorSet } from "../mirror/mirror-set.ts";
import type { ServedView } from "../views/served-view.ts";
import type { OpenStreams } from "../fleet/open-streams.ts";
import type { ViewDefinition } from "../views/view-definition.ts";
import { selectorsOf } from "../kubernetes/read-query.ts";
import type { StreamReviewDeps } from "../access/stream-review.ts";
import { PlainPoll } from "./plain-poll.ts";
import type { Pollable } from "./pollable.ts";

interface PollsDeps {
  readonly mirrors: MirrorSet;
  /** By name: views of the operator's file whose resources are mirrored by now. */
  readonly views: ReadonlyMap<string, ServedView>;
  /** All views of the operator's file. */
  readonly definitions: readonly ViewDefinition[];
  readonly frontend: EtagFrontend;
  readonly streams: OpenStreams;
  readonly reviews: StreamReviewDeps;
}

const etagPrefix = "/etag";
const viewsPrefix = "/views/";

/** View and zone that a path names. */
interface ViewPath {
  readonly name: string;
  /** Undefined: the file has no such view. */
  readonly definition: ViewDefinition | undefined;
  readonly zone: string;
  readonly hasMore: boolean;
}

export class Polls {
  readonly #deps: PollsDeps;

  constructor(deps: PollsDeps) {
    this.#deps = deps;
  }

  /** Returns the path of the list that a poll reads. Undefined: the path is not that of a poll. */
  listPath(path: string): string | undefined {
    if (path.startsWith(`${etagPrefix}/`)) return path.slice(etagPrefix.length);
    const named = this.#viewPath(path);
    return named && this.#deps.views.get(named.name)?.listPath;
  }

  /** Whether the operator has made the view at this path public: no credential is needed to read it. */
  isPublic(path: string): boolean {
    return this.#viewPath(path)?.definition?.isPublic === true;
  }

  /** Answers a poll. Undefined: the request is not a poll. */
  answer(asked: Asked): Promise<PlainResponse> | undefined {
    const { path } = asked.request;
    if (path.startsWith(`${etagPrefix}/`)) return this.#answerEtag(asked);
    const named = this.#viewPath(path);
    return named === undefined ? undefined : this.#answerView(asked, named);
  }

  #viewPath(path: string): ViewPath | undefined {
    const { definitions } = this.#deps;
    if (path.startsWith(viewsPrefix)) {
      const [name = "", zone = "", ...more] = path.slice(viewsPrefix.length).split("/");
      const definition = definitions.find((one) => one.name === name);
      return { name, definition, zone, hasMore: more.length > 0 };
    }
    for (const definition of definitions) {
      const { name, path: own } = definition;
      if (own === "" || !(path === own || path.startsWith(`${own}/`))) continue;
      const [zone = "", ...more] = path.slice(own.length + 1).split("/");
      return { name, definition, zone, hasMore: more.length > 0 };
    }
    return undefined;
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
    // The answer also reports changes, so the reader needs the rights to list and to watch.
    const questions = [asked, { ...asked, verb: "watch" }];
    if (place === undefined) {
      for (const one of questions) await read.door.authorize(read.caller, one);
      throw notFound({ group: info.group, resource: path }, "");
    }
    const source = new PlainPoll(resource, () => resource.views.get(place, labels, selectors));
    return this.#answerPoll(read, { source, zone: "" }, questions);
  }

  async #answerView(
    read: Asked,
    { name, definition, zone, hasMore }: ViewPath,
  ): Promise<PlainResponse> {
    if (definition === undefined || hasMore) {
      throw notFound({ group: "", resource: "views" }, name);
    }
    const named = this.#deps.views.get(name);
    if (named === undefined) {
      throw failure(503, "ServiceUnavailable", `the resource of view ${name} is not mirrored yet`);
    }
    if (!isPoll(read.request)) return pollsOnly();
    const poll = { source: named.source, zone };
    if (!definition.isPublic) return this.#answerPoll(read, poll, named.questions());
    return this.#read(read, poll, () => true);
  }

  async #answerPoll(
    read: Asked,
    poll: Pick<EtagRead, "source" | "zone">,
    questions: readonly Question[],
  ): Promise<PlainResponse> {
    const { request, door, caller } = read;
    for (const asked of questions) await door.authorize(caller, asked);
    const allowed = door.recall(request, caller, questions);
    const response = await this.#read(read, poll, allowed);
    return answerReviewed(this.#deps.reviews, response, read, questions);
  }

  async #read(
    { request, query }: Asked,
    poll: Pick<EtagRead, "source" | "zone">,
    allowed: () => boolean,
  ): Promise<PlainResponse> {
    if (!poll.source.isReady) return notListed(poll.source);
    if (asksForEvents(request)) this.#deps.streams.admit();
    return this.#deps.frontend.answer({ ...poll, request, query, allowed });
  }
}

function isPoll({ method }: PlainRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function pollsOnly(): PlainResponse {
  const text = "lists and views for pollers take GET and HEAD only\n";
  return textResponse(405, text, { allow: "GET, HEAD" });
}

/** Answers 503 at once, without waiting for the first list: pollers retry by themselves. */
function notListed({ title }: Pollable): PlainResponse {
  const text = `the relay has not yet listed ${title} from its upstream\n`;
  return textResponse(503, text, { "retry-after": "1" });
}
