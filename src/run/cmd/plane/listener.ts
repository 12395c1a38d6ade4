/** The listener of a plane: its address, the accepted client certificates, and the facts that it publishes for clients. */
import { given } from "#base/given.ts";
import type { BootstrapFacts } from "#apiserver/bootstrap-objects.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { withAnswerHeaders } from "#server/answer-headers.ts";
import {
  httpLimits,
  listen,
  type ListenIdentity,
  type Listening,
} from "#platform/node/http/http.ts";
import { renewServing, type ServedIdentity } from "./authentication/serving-files.ts";
import type { Host } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import type { ServingOptions } from "../shared/serving-flags.ts";
import type { OwnAddresses } from "./own-addresses.ts";
import { noteAddresses } from "./ways.ts";
import type { PlaneOptions } from "./options.ts";

export function listenTls(
  host: Host,
  options: PlaneOptions,
  server: ApiServer,
  metrics: MetricSet,
): Promise<Listening> {
  const { pki, serving } = options;
  const failedHandshakes = metrics
    .counter("apiserver_tls_handshake_errors_total", "[ALPHA] TLS handshakes that failed.", [])
    .cell([]);
  return listen(
    {
      host: options.host,
      port: options.port,
      key: pki.server.privateKey,
      cert: pki.server.certificate,
      clientCa: clientAuthorities(options),
      ...(options.frontProxy === undefined ? {} : { proxyCa: options.frontProxy.clientCa }),
      ...(serving === undefined ? {} : servingParts(serving)),
      onHandshakeFailed: () => void failedHandshakes.count++,
      limits: httpLimits,
      refused: (request) => server.refused(request),
      ledger: server.ledger,
    },
    withAnswerHeaders(server.handler, serving?.headers ?? {}),
    host.log,
  );
}

function servingParts({ tls, goawayChance, sharesPort }: ServingOptions) {
  return { tls, goawayChance, ...(sharesPort === true && { sharesPort }) };
}

/** The address at which clients reach a plane. */
export type Place = Pick<Listening, "address">;

export function bootstrapFacts(options: PlaneOptions, { address }: Place): BootstrapFacts {
  return {
    advertise: { host: options.advertiseAddress ?? options.host, port: address.port },
    isOneOfSeveral: options.isOneOfSeveral ?? false,
    serviceCidr: (options.serviceAddresses ?? limits.serviceAddresses).range,
    clientCa: clientAuthorities(options),
    requestHeader: options.frontProxy ?? {
      clientCa: options.pki.frontProxyAuthority.certificate,
      allowedNames: ["front-proxy-client"],
      usernameHeaders: ["X-Remote-User"],
      uidHeaders: ["X-Remote-Uid"],
      groupHeaders: ["X-Remote-Group"],
      extraPrefixes: ["X-Remote-Extra-"],
    },
  };
}

/** Replaces the listener's files when they change while it serves. @returns a function that stops this. */
export function renewListener(host: Host, options: PlaneOptions, listening: Listening): () => void {
  const { servingFiles, pki, frontProxy } = options;
  if (servingFiles === undefined) return () => undefined;
  const identityOf = ({
    server = pki.server,
    clientCa,
    proxyCa = frontProxy?.clientCa,
  }: ServedIdentity): ListenIdentity => ({
    key: server.privateKey,
    cert: server.certificate,
    clientCa: clientAuthorities(clientCa === undefined ? options : { ...options, clientCa }),
    ...given({ proxyCa }),
  });
  const renew = (identity: ListenIdentity): void => listening.renew(identity);
  return renewServing({ ...host, renew, identityOf }, servingFiles);
}

/** Notes the own addresses. A request that an object directs back here would run with this server's own rights. */
export function noteListening(
  own: OwnAddresses,
  { advertiseAddress, serviceAddresses: { range } = limits.serviceAddresses }: PlaneOptions,
  { address: { port } }: Place,
): void {
  noteAddresses(own, { port, advertiseAddress, range });
}

/** Returns the CAs of client certificates in PEM, including the CA of the nodes' certificates. */
function clientAuthorities({ pki, clientCa, signingAuthority, signers }: PlaneOptions): string {
  const all = new Set([clientCa ?? pki.authority.certificate]);
  for (const signer of clientSigners) {
    if (signingAuthority === undefined || signers?.has(signer) === false) continue;
    all.add(signingAuthority(signer).certificate);
  }
  return [...all].map((certificate) => `${certificate.trimEnd()}\n`).join("");
}

/** Signers of client certificates. */
const clientSigners = [
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
];

/** Returns the URL for clients on this machine. */
export function urlOf(host: string, { address }: Place): string {
  return `https://${urlHost(host)}:${address.port}`;
}

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
