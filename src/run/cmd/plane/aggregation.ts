/** The connection to aggregated API servers: the routing of their Services and the client certificate for them. */
import { createSecureContext } from "node:tls";
import type { Lister } from "#api/lister.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import { given } from "#base/given.ts";
import { Aggregator } from "#extension/aggregation/aggregator.ts";
import { type AggregationLimits, aggregationLimits } from "#extension/aggregation/limits.ts";
import type { MakeTransport } from "#extension/aggregation/remote.ts";
import { clusterIpResolver, endpointResolver } from "#extension/aggregation/service-resolver.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import { hostsTransport, type RefusesAddress } from "#platform/node/http/http-hosts.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { Host } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface AggregationFlags {
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  readonly enableAggregatorRouting: boolean;
}

export interface AggregationAccess {
  /** Client certificate. Absent: the front proxy's certificate of `pki`. */
  readonly client?: IssuedCertificate;
  /** Whether this server connects to endpoints. False: another component routes cluster IPs. Absent: true. */
  readonly routesEndpoints?: boolean;
  /** Transport in place of sockets, for tests. */
  readonly makeTransport?: MakeTransport;
  /** Limits of the aggregator. Absent: its defaults. */
  readonly limits?: AggregationLimits;
}

/** @throws UsageError for files that cannot be used. */
export function aggregationAccess(flags: AggregationFlags): AggregationAccess {
  const { proxyClientCertFile: certificate, proxyClientKeyFile: key } = flags;
  const routesEndpoints = flags.enableAggregatorRouting;
  if ((certificate === undefined) !== (key === undefined))
    throw new UsageError("give --proxy-client-cert-file and --proxy-client-key-file, or neither");
  if (certificate === undefined || key === undefined) return { routesEndpoints };
  const client = { certificate: readOperatorFile(certificate), privateKey: readOperatorFile(key) };
  try {
    createSecureContext({ cert: client.certificate, key: client.privateKey });
  } catch (error) {
    const text = `--proxy-client-cert-file or --proxy-client-key-file: ${(error as Error).message}`;
    throw new UsageError(text, { cause: error });
  }
  return { client, routesEndpoints };
}

interface AggregationParts {
  readonly catalog: ResourceCatalog;
  readonly lookup: Lister;
  readonly metrics: MetricSet;
  readonly frontProxy: IssuedCertificate;
  readonly refuses: RefusesAddress;
}

export function openAggregator(
  host: Host,
  { catalog, lookup, metrics, frontProxy, refuses }: AggregationParts,
  access: AggregationAccess,
): Aggregator {
  const { client = frontProxy, routesEndpoints = true } = access;
  const shown = { certificate: client.certificate, key: client.privateKey };
  const makeTransport: MakeTransport = (ca) => {
    const credentials = { ...shown, ...given({ ca }) };
    const shared = { refuses, limits: limits.aggregatedConnections };
    return hostsTransport({ credentials: () => credentials, ...shared });
  };
  const resolve = routesEndpoints
    ? endpointResolver(lookup, host.random)
    : clusterIpResolver(lookup);
  return new Aggregator(
    {
      ...host,
      catalog,
      lookup,
      metrics,
      resolve,
      makeTransport: access.makeTransport ?? makeTransport,
    },
    { limits: access.limits ?? aggregationLimits, streams: limits.aggregatedStreams },
  );
}
