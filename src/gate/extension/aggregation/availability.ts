/**
 * Checks whether an APIService is available: its Service must be usable, and its discovery must be readable.
 *
 * Holds  reasons and messages are upstream's; one of five concurrent GETs must succeed.
 * Cost   a check of cached objects, then five small requests of at most `probeMs` each.
 * After  kube-aggregator remote_available_controller.go.
 */
import type { AnyObject } from "#api/object.ts";
import type { Lister } from "#api/lister.ts";
import type { RemoteSpec, Verdict } from "./api-service.ts";
import type { AggregationLimits } from "./limits.ts";
import { authorityOf, type Remote } from "./remote.ts";
import { isReady, services, type Slice, slicesOf } from "./service-resolver.ts";

const passed: Verdict = { status: "True", reason: "Passed", message: "all checks passed" };
/** User of the aggregator's own requests. It may always read discovery, as upstream's. */
export const aggregatorUser = { name: "system:kube-aggregator", groups: ["system:masters"] };

interface CheckDeps {
  readonly lookup: Lister;
  readonly limits: AggregationLimits;
}

export async function checkRemote(
  deps: CheckDeps,
  remote: Remote,
  signal: AbortSignal,
): Promise<Verdict> {
  const { spec } = remote;
  const problem = checkObjects(deps.lookup, spec);
  if (problem !== undefined) return problem;
  const failures: string[] = [];
  const probes = Array.from({ length: deps.limits.probes }, () =>
    probe(deps, remote, signal).catch((error: unknown) => {
      failures.push((error as Error).message);
      throw error;
    }),
  );
  const hasPassed = await Promise.any(probes).then(
    () => true,
    () => false,
  );
  if (hasPassed) return passed;
  return no("FailedDiscoveryCheck", failures.at(-1) ?? "");
}

function no(reason: string, message: string, status: Verdict["status"] = "False"): Verdict {
  return { status, reason, message };
}

interface CheckedService {
  readonly type?: string;
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
}

/** Checks the Service and its endpoints. Undefined: they show no fault. */
function checkObjects(lookup: Lister, { service: reference }: RemoteSpec): Verdict | undefined {
  const { namespace, name, port } = reference;
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  let service: AnyObject | undefined;
  try {
    service = lookup.get(services, namespace, name);
  } catch (error) {
    const text = `${where} cannot be checked due to: ${String(error)}`;
    return no("ServiceAccessError", text, "Unknown");
  }
  if (service === undefined) return no("ServiceNotFound", `${where} is not present`);
  const { type = "ClusterIP", ports = [] } = (service["spec"] ?? {}) as CheckedService;
  if (type !== "ClusterIP") return undefined;
  const found = ports.find((one) => one.port === port);
  if (found === undefined)
    return no("ServicePortError", `${where} is not listening on port ${port}`);
  return checkEndpoints(lookup, reference, where, found.name ?? "");
}

function checkEndpoints(
  lookup: Lister,
  reference: RemoteSpec["service"],
  where: string,
  portName: string,
): Verdict | undefined {
  let slices: readonly Slice[];
  try {
    slices = slicesOf(lookup, reference);
  } catch (error) {
    const text = `${where} cannot be checked due to: ${String(error)}`;
    return no("EndpointsAccessError", text, "Unknown");
  }
  if (slices.length === 0)
    return no("EndpointsNotFound", `cannot find endpointslices for ${where}`);
  if (slices.some((slice) => hasReadyPort(slice, portName))) return undefined;
  const text = `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`;
  return no("MissingEndpoints", text);
}

function hasReadyPort({ endpoints, ports }: Slice, portName: string): boolean {
  const isNamed = (ports ?? []).some(
    (one) => (one.name ?? "") === portName && one.port !== undefined,
  );
  return isNamed && (endpoints ?? []).some(isReady);
}

async function probe({ limits }: CheckDeps, remote: Remote, signal: AbortSignal): Promise<void> {
  const { group, version } = remote.spec;
  const path = `/apis/${group}/${version}`;
  const url = `https://${authorityOf(remote.host())}${path}`;
  const failing = (why: string): Error =>
    new Error(`failing or missing response from ${url}: ${why}`);
  const options = {
    path,
    user: aggregatorUser,
    headers: {},
    timeoutMs: limits.probeMs,
    bytesMax: limits.probeBytesMax,
    dropsLongBody: true as const,
    signal,
  };
  let status: number;
  try {
    ({ status } = await remote.fetch(options));
  } catch (error) {
    throw failing(`Get ${JSON.stringify(url)}: ${(error as Error).message}`);
  }
  if (status < 200 || status >= 300) throw failing(`bad status from ${url}: ${status}`);
}
