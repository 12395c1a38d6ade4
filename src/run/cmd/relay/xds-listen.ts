/** The listener of a relay's discovery service: gRPC over HTTP/2, with the same certificate as its other listeners. */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type EtcdListening, listenEtcd, recommendedServerLimits } from "#etcd/server.ts";
import type { Clock } from "#platform/clock.ts";
import type { Peer } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { XdsFace } from "#relay/xds/xds-face.ts";
import type { Address } from "./workers.ts";
import { xdsFlag } from "./listen.ts";
import { UsageError } from "../shared/usage-error.ts";

const xdsServerLimits = {
  ...recommendedServerLimits,
  // Enough for 10,000 names with the versions that a client holds.
  messageBytesMax: 4 * 2 ** 20,
  // A client has one stream. A proxy of clients may have many.
  streamsPerConnectionMax: 200,
  connectionsMax: 60_000,
  // Very many clients may share one address.
  connectionsPerAddressMax: 60_000,
};

interface XdsListenDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly face: XdsFace;
}

interface XdsKeys {
  /** Certificate in PEM. Absent: the listener uses no TLS. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly clientCa: string | undefined;
}

/** Throws UsageError. */
export async function listenXds(
  { clock, log, face }: XdsListenDeps,
  address: Pick<Address, "host" | "port">,
  { cert, key, clientCa }: XdsKeys,
): Promise<EtcdListening> {
  const authority = clientCa === undefined ? {} : { clientCa, isClientCertificateOptional: true };
  const tls = cert === undefined || key === undefined ? {} : { tls: { cert, key, ...authority } };
  const body = Buffer.from("the discovery service is gRPC: docs/xds.md says how to use it\n");
  const http = (): { status: number; headers: Readonly<Record<string, string>>; body: Buffer } => ({
    status: 404,
    headers: { "content-type": "text/plain" },
    body,
  });
  const methods = (socket: Socket) => face.methods(peerOf(socket));
  try {
    return await listenEtcd(
      { clock, log, http, methods },
      { ...address, ...tls, limits: xdsServerLimits },
    );
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "the address is in use" : message;
    const text = `cannot listen on ${address.host}:${address.port}: ${why}; give another with ${xdsFlag}`;
    throw new UsageError(text, { cause: error });
  }
}

/** Returns the peer. As on the relay's other listeners, an unverified certificate differs from none. */
function peerOf(socket: Socket): Peer {
  const address = socket.remoteAddress ?? "";
  if (!(socket instanceof TLSSocket)) return { kind: "socket", address };
  const certificate = socket.getPeerCertificate()?.raw;
  if (certificate === undefined) return { kind: "socket", address };
  if (socket.authorized) return { kind: "socket", address, certificate };
  return { kind: "socket", address, certificateProblem: String(socket.authorizationError) };
}
