/**
 * Who read what through a relay: events of the server's audit trail, with who answered as an annotation. The
 * upstream's own log names the readers of what passed through, and nobody who read a mirror.
 *
 * Holds  every request that the policy keeps leaves its events when its answer is made (the identity is known
 *        then), a stream's last one when it closes, a 304 given again on its connection each time. The event of
 *        a poll says the list it stands for. Bodies are the upstream's log's to keep, but for an answer that the
 *        relay makes itself.
 */
import type { Clock } from "#platform/clock.ts";
import type { ByteSink, PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import type { Ledger } from "#platform/ledger.ts";
import type { Random } from "#platform/random.ts";
import { type Replay, type ReplayableResponse, replayOf } from "#platform/replay.ts";
import { isObjectAnswer, takeResponse } from "#server/audit/bodies.ts";
import type { AuditEvent } from "#server/audit/event.ts";
import { factsOf } from "#server/audit/request-audit.ts";
import type { AuditTrail } from "#server/audit/trail.ts";
import { openHolding } from "#server/charges.ts";
import { isLongRunning, type RequestInfo } from "#server/request-info.ts";
import { isNobody } from "./anonymous.ts";
import type { CallerNote } from "./entry-point.ts";

interface RelayAuditDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly trail: AuditTrail;
}

/** Facts about one request that its audit event contains. */
interface Served {
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly caller: CallerNote;
  readonly receivedMs: number;
  /** Source of the answer: mirror, etag, discovery, upstream, relay or refused. */
  readonly by: string;
}

const servedFromAnnotation = "relay.pilothouse.dev/served-from";

export class RelayAudit {
  readonly #deps: RelayAuditDeps;

  constructor(deps: RelayAuditDeps) {
    this.#deps = deps;
  }

  /** Returns the answer and writes its audit events as its stages pass; blocking sinks delay the answer. */
  async audited(served: Served, response: PlainResponse): Promise<PlainResponse> {
    const event = this.#event(served, response);
    const { trail } = this.#deps;
    if (event !== undefined) {
      await trail.stage(event, "RequestReceived");
      await this.#takeBody(event, served, response);
      if (isLongRunning(served.info)) await trail.stage(event, "ResponseStarted");
      if (response.kind !== "stream") await trail.stage(event, "ResponseComplete");
    }
    switch (response.kind) {
      case "stream":
        return { ...response, open: this.#opened(event, response) };
      case "bytes": {
        const again = replayOf(response);
        return again === undefined ? response : this.#repeatable(served, response, again);
      }
      case "object":
      case "events":
      case "tunnel":
        return response;
      default:
        return response satisfies never;
    }
  }

  #opened(
    event: AuditEvent | undefined,
    response: Extract<PlainResponse, { kind: "stream" }>,
  ): (sink: ByteSink) => () => void {
    return (sink) => {
      const close = response.open(sink);
      let isClosed = false;
      return () => {
        if (isClosed) return;
        isClosed = true;
        close();
        if (event !== undefined) void this.#deps.trail.stage(event, "ResponseComplete");
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
      const head = again();
      if (head === undefined) return undefined;
      const event = this.#event({ ...served, receivedMs }, head);
      // A replay is synchronous: a blocking sink delays the next request of the connection's user, not this one.
      if (event !== undefined) void this.#repeat(event);
      return head;
    };
    return { ...response, again: audited };
  }

  async #repeat(event: AuditEvent): Promise<void> {
    await this.#deps.trail.stage(event, "RequestReceived");
    await this.#deps.trail.stage(event, "ResponseComplete");
  }

  #event(
    { request, info, caller, receivedMs, by }: Served,
    { status, headers }: Pick<PlainResponse, "status" | "headers">,
  ): AuditEvent | undefined {
    const { random, trail } = this.#deps;
    const acting = status === 401 && by === "refused" ? undefined : named(caller.user);
    const user = caller.impersonator ?? acting;
    // The upstream's audit ID, when the upstream answered: then both audit logs use the same ID for the request.
    const given = headers["audit-id"];
    const auditId = typeof given === "string" ? given : random.uuid();
    const event = trail.begin(user, info, () =>
      factsOf({ request, info, auditId, receivedMs }, user),
    );
    if (event === undefined) return undefined;
    if (caller.impersonator !== undefined && acting !== undefined)
      event.impersonated = { user: acting, constraint: "" };
    event.annotate(servedFromAnnotation, by);
    event.status = { code: status };
    return event;
  }

  async #takeBody(event: AuditEvent, served: Served, response: PlainResponse): Promise<void> {
    if (served.by === "upstream" || !isObjectAnswer(response)) return;
    const { request, caller, info } = served;
    const charged = {
      peer: request.peer,
      user: caller.user,
      namespace: info.namespace,
      queryBytes: 0,
    };
    const holding = openHolding(this.#deps.ledger, charged);
    try {
      await takeResponse(event, response, holding);
    } finally {
      holding.close();
    }
  }
}

/** Returns the user for audit events. For a request without credentials: name and groups only, as in the API server's events. */
function named(user: UserInfo | undefined): UserInfo | undefined {
  if (user === undefined || !isNobody(user)) return user;
  return { name: user.name, groups: user.groups };
}
