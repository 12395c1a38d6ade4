/**
 * Who read what through a relay: a line of the server's audit trail per request, with who answered it.
 * The upstream's own log names the readers of what passed through, and nobody who read a mirror.
 *
 * Holds  every request leaves one line: a short one when its answer is made, a stream when it closes, a
 *        304 given again on its connection each time. The line of a poll says the list it stands for.
 */
import type { Clock } from "#platform/clock.ts";
import type { ByteSink, PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import type { Random } from "#platform/random.ts";
import { type Replay, type ReplayableResponse, replayOf } from "#platform/replay.ts";
import type { AuditTrail } from "#server/audit.ts";
import type { RequestInfo } from "#server/request-info.ts";
import { isNobody } from "./anonymous.ts";
import type { CallerNote } from "./entry-point.ts";

interface RelayAuditDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly trail: AuditTrail;
}

/** What the relay learned of one request. */
interface Served {
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly caller: CallerNote;
  readonly receivedMs: number;
  readonly startedMs: number;
  /** mirror, etag, discovery, upstream, relay or refused. */
  readonly by: string;
}

export class RelayAudit {
  readonly #deps: RelayAuditDeps;

  constructor(deps: RelayAuditDeps) {
    this.#deps = deps;
  }

  /** The answer, which leaves its line as it goes. */
  audited(served: Served, response: PlainResponse): PlainResponse {
    switch (response.kind) {
      case "stream":
        return { ...response, open: this.#opened(served, response) };
      case "bytes": {
        this.#record(served, response.status, response);
        const again = replayOf(response);
        return again === undefined ? response : this.#repeatable(served, response, again);
      }
      case "object":
      case "events":
      case "tunnel":
        this.#record(served, response.status, response);
        return response;
      default:
        return response satisfies never;
    }
  }

  #opened(
    served: Served,
    response: Extract<PlainResponse, { kind: "stream" }>,
  ): (sink: ByteSink) => () => void {
    return (sink) => {
      const close = response.open(sink);
      let isClosed = false;
      return () => {
        if (isClosed) return;
        isClosed = true;
        close();
        this.#record(served, response.status, response);
      };
    };
  }

  #repeatable(
    served: Served,
    response: Extract<PlainResponse, { kind: "bytes" }>,
    again: Replay,
  ): ReplayableResponse {
    const audited: Replay = () => {
      const receivedMs = this.#deps.clock.nowMs();
      const startedMs = this.#deps.clock.monotonicMs();
      const head = again();
      if (head !== undefined) this.#record({ ...served, receivedMs, startedMs }, head.status, head);
      return head;
    };
    return { ...response, again: audited };
  }

  #record(served: Served, code: number, { headers }: Pick<PlainResponse, "headers">): void {
    const { request, info, caller, receivedMs, startedMs, by } = served;
    const { clock, random, trail } = this.#deps;
    // The upstream's, where it answered: both logs then name the request alike.
    const given = headers["audit-id"];
    const { peer } = request;
    trail.record({
      auditId: typeof given === "string" ? given : random.uuid(),
      receivedMs,
      seconds: (clock.monotonicMs() - startedMs) / 1000,
      user: code === 401 && by === "refused" ? undefined : named(caller.user),
      impersonator: caller.impersonator,
      sourceAddress: peer.kind === "socket" ? peer.address : "direct",
      userAgent: (request.headers["user-agent"] ?? "").toWellFormed(),
      info,
      name: info.name,
      method: request.method,
      query: request.query,
      code,
      servedFrom: by,
    });
  }
}

/** As the server's lines name a request without credentials. */
function named(user: UserInfo | undefined): UserInfo | undefined {
  if (user === undefined || !isNobody(user)) return user;
  return { name: user.name, groups: user.groups };
}
