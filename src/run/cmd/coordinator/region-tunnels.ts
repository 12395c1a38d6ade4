/**
 * `/tunnels/NAME` at the coordinator: an agent dials in, and requests to its region go out over that connection.
 *
 *   agent ──GET /tunnels/eu, Upgrade──► identified by home, may `create clusterprofiles/tunnel eu`? ──101──► HTTP/2, whose client
 *                                                                                                   is this end
 *
 * Holds  a region's requests go through the tunnel of that region's agent, or nowhere; a newer tunnel takes the place of the
 *        older. No credential is sent through it: the agent has its own.
 * Bounds one tunnel for each region that was joined so.
 */
import { connect } from "node:http2";
import { failure } from "#api/status.ts";
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";
import type { ByteDuplex, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import { duplexStream } from "#platform/node/http/duplex-stream.ts";
import { Http2Client } from "#platform/node/http/http2-client.ts";
import type { Access } from "#relay/access/access.ts";
import { isNobody } from "#relay/access/anonymous.ts";
import type { RegionSet } from "#regions/coordinator/region-set.ts";
import { refs } from "#regions/names.ts";
import type { MorePaths } from "../shared/health.ts";
import { tunnelProtocol } from "../shared/tunnel-protocol.ts";

interface Tunnel {
  readonly client: Http2Client;
  close(): void;
}

const pathPattern = /^\/tunnels\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)$/;
/** Idle time after which a tunnel ends. The region's side sends pings more often. */
const idleMs = 600_000;

export class RegionTunnels implements MorePaths {
  readonly prefix = "/tunnels/";
  readonly #deps: { readonly log: Log; readonly namespace: string };
  readonly #tunnels = new Map<string, Tunnel>();
  /** The regions, while this process leads. Undefined: it does not lead. */
  regions: RegionSet | undefined;

  constructor(deps: { readonly log: Log; readonly namespace: string }) {
    this.#deps = deps;
  }

  async serve(request: PlainRequest, access: Access): Promise<PlainResponse> {
    const user = await access.identify(request);
    if (isNobody(user)) throw failure(401, "Unauthorized", "Unauthorized");
    const [, region = ""] = pathPattern.exec(request.path) ?? [];
    if (region === "") throw failure(404, "NotFound", "tunnels are at /tunnels/NAME", {});
    const { namespace } = this.#deps;
    await access.authorize(user, {
      ...refs.profiles,
      verb: "create",
      subresource: "tunnel",
      namespace,
      name: region,
    });
    if (this.regions === undefined) {
      const text = "this coordinator does not lead: dial the one that holds the Lease";
      throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 5 });
    }
    if (!this.regions.isPulled(region)) {
      throw failure(404, "NotFound", `no region ${region} was joined with --pull`);
    }
    if (request.upgrade !== tunnelProtocol) {
      throw failure(400, "BadRequest", `the upgrade must be to ${tunnelProtocol}`);
    }
    const headers = { connection: "Upgrade", upgrade: tunnelProtocol };
    const open = (end: ByteDuplex): void => this.#open(region, end);
    return { kind: "tunnel", status: 101, headers, open };
  }

  /** Returns a transport that uses the region's current tunnel at each request. */
  transportOf(region: string): ByteTransport {
    return {
      send: async (request) => {
        const tunnel = this.#tunnels.get(region);
        if (tunnel === undefined || tunnel.client.isRetired) {
          throw new ByteTransportError("the region's agent is not connected", "ECONNREFUSED");
        }
        return tunnel.client.send({ scheme: "http", name: region, port: 80 }, request);
      },
      close: () => {},
    };
  }

  /** Closes the tunnels at the end of a term. */
  close(): void {
    this.regions = undefined;
    for (const tunnel of this.#tunnels.values()) tunnel.close();
    this.#tunnels.clear();
  }

  #open(region: string, end: ByteDuplex): void {
    const stream = duplexStream(end);
    const session = connect("http://region", { createConnection: () => stream });
    const client = new Http2Client(session, idleMs);
    const tunnel = { client, close: () => session.destroy() };
    const before = this.#tunnels.get(region);
    this.#tunnels.set(region, tunnel);
    before?.close();
    this.#deps.log.info("a region's agent has connected", { region });
    session.on("close", () => {
      if (this.#tunnels.get(region) !== tunnel) return;
      this.#tunnels.delete(region);
      this.#deps.log.warn("a region's agent is gone", { region });
    });
  }
}
