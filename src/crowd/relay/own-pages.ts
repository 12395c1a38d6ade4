/**
 * The relay's own pages: /relay/healthz (the process), /relay/readyz (every awaited mirror is listed
 * and young enough, or passes through), /relay/load (streams open, for peers) - readable without
 * credentials - and /relay/metrics and /relay/xds (streams and refusals of the discovery service), for
 * users that may get /metrics upstream.
 */
import { badRequest } from "#api/status.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { textResponse } from "#server/respond.ts";
import type { Caller, EntryPoint } from "./access/entry-point.ts";
import type { MirrorSet } from "./mirror/mirror-set.ts";
import { kindId } from "./mirror/mirrored-kind.ts";
import type { Mirrored } from "./mirror/mirrored.ts";
import type { OpenStreams } from "./fleet/open-streams.ts";
import type { XdsFace } from "./xds/xds-face.ts";

export const ownPrefix = "/relay/";

interface OwnPagesDeps {
  readonly metrics: MetricSet;
  /** Returns the metrics of all processes of this relay. Absent: this process is the only one. */
  readonly metricsText?: () => Promise<string>;
  readonly mirrors: MirrorSet;
  readonly streams: OpenStreams;
  readonly xds: XdsFace | undefined;
}

export class OwnPages {
  readonly #deps: OwnPagesDeps;
  readonly #readyAgeMsMax: number | undefined;

  constructor(deps: OwnPagesDeps, limits: { readonly readyAgeMsMax: number | undefined }) {
    this.#deps = deps;
    this.#readyAgeMsMax = limits.readyAgeMsMax;
  }

  /** Answers pages that need no credentials. Undefined: the path does not name such a page. */
  open(path: string): PlainResponse | undefined {
    switch (path.slice(ownPrefix.length)) {
      case "healthz":
        return textResponse(200, "ok");
      case "load":
        return textResponse(200, `${this.#deps.streams.load}\n`);
      case "readyz":
        return this.#readyz();
      default:
        return undefined;
    }
  }

  /** Throws 400 for an unknown page, 403 for a caller without the right. */
  async answer({ path }: PlainRequest, door: EntryPoint, caller: Caller): Promise<PlainResponse> {
    const { xds } = this.#deps;
    const isXds = path === `${ownPrefix}xds` && xds !== undefined;
    if (path !== `${ownPrefix}metrics` && !isXds) throw badRequest("the relay has no such page");
    await door.authorizePath(caller, "/metrics");
    if (isXds) return textResponse(200, `${JSON.stringify(xds.status(), undefined, 2)}\n`);
    const { metrics, metricsText } = this.#deps;
    return textResponse(200, metricsText === undefined ? metrics.text() : await metricsText());
  }

  #readyz(): PlainResponse {
    const why = this.#unready();
    if (why !== undefined) return textResponse(503, `${why}\n`);
    const passing = this.#deps.mirrors.awaited.filter(({ upstream }) => upstream.passes);
    if (passing.length === 0) return textResponse(200, "ok");
    return textResponse(200, `ok, but passed through for want of a list: ${namesOf(passing)}\n`);
  }

  #unready(): string | undefined {
    const { mirrors, streams } = this.#deps;
    if (streams.leaving) return "shutting down";
    const { awaited, complete } = mirrors;
    const missing = awaited.filter(({ mirror, upstream }) => !mirror.ready && !upstream.passes);
    if (missing.length > 0 || !complete) return `not listed yet: ${namesOf(missing)}`;
    const ageMsMax = this.#readyAgeMsMax;
    if (ageMsMax === undefined) return undefined;
    // A resource that its own server cannot deliver does not count: no other relay has a newer state of it.
    const old = awaited.filter(
      ({ mirror, upstream }) => mirror.ageMs > ageMsMax && !upstream.passes && !upstream.away,
    );
    if (old.length === 0) return undefined;
    return `no word from upstream for more than ${ageMsMax / 1000} s: ${namesOf(old)}`;
  }
}

function namesOf(resources: readonly Mirrored[]): string {
  return resources.map(({ kind }) => kindId(kind)).join(", ");
}
