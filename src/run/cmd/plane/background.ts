/** The background work of a plane: its own objects, and the scheduler, controllers and hollow nodes. */
import { given } from "#base/given.ts";
import { type BootstrapFacts, isReachable } from "#apiserver/bootstrap-objects.ts";
import { FlowControlKeeper } from "#apiserver/flow-control-keeper.ts";
import { KubernetesEndpoints } from "#apiserver/kubernetes-endpoints.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { ServerIdentity } from "#apiserver/server-identity.ts";
import { signDetached } from "#auth/cluster-info-signature.ts";
import { ClusterSigner } from "#auth/cluster-signer.ts";
import type { SigningOptions } from "#controllers/certificates/signing.ts";
import { policyTypeChecker } from "#extension/policies/type-checker.ts";
import { MasterLeases } from "#registry/master-leases.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { groups } from "#auth/groups.ts";
import { directClient } from "#client/direct.ts";
import { listenAsKubelets } from "../shared/hollow-kubelet.ts";
import { componentUserAgent } from "../shared/user-agent.ts";
import type { ServerAccess } from "./access.ts";
import type { Host, SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { type Loops, startLoops } from "./loops.ts";
import type { Parts } from "../shared/parts.ts";
import type { PlaneOptions } from "./options.ts";
import type { Storage } from "./storage.ts";

const masterLeases = { group: "", resource: "masterleases" };

/** Maintains Endpoints `kubernetes` of several servers, the fairness objects, and this server's identity lease. */
export async function keepOwnObjects(
  host: SupervisedHost,
  options: PlaneOptions,
  { catalog, stores, facts }: Pick<Storage, "stores"> & OwnObjects,
  parts: Parts,
): Promise<void> {
  const { advertise, isOneOfSeveral } = facts;
  // A single server has one address, and at loopback other hosts could not reach it.
  if (isOneOfSeveral === true && isReachable(advertise.host)) {
    const leases = new MasterLeases(stores.of(masterLeases));
    const endpoints = new KubernetesEndpoints({ ...host, catalog, leases }, advertise);
    await parts.open("endpoints", () => endpoints.start(), { close: () => endpoints.close() });
  }
  const keeper = new FlowControlKeeper({ ...host, catalog });
  await parts.open("flow-control", () => keeper.start(), { close: () => keeper.close() });
  if (options.identity === undefined) return;
  const identity = new ServerIdentity({ ...host, catalog }, options.identity);
  await parts.open("identity", () => identity.start(), { close: () => identity.close() });
}

interface OwnObjects extends Pick<ApiServer, "catalog"> {
  readonly facts: BootstrapFacts;
}

interface LoopsDeps {
  readonly server: ApiServer;
  readonly access: ServerAccess;
  readonly metrics: MetricSet;
}

/** Starts the scheduler, controllers and hollow nodes. Undefined: the options disable them. */
export async function openLoops(
  host: SupervisedHost,
  options: PlaneOptions,
  { server, access, metrics }: LoopsDeps,
  parts: Parts,
): Promise<Loops | undefined> {
  if (options.loops === "none") return undefined;
  const { nodes, unpullable, devices, recovery, stages, failures } = options;
  const kubelet = await openKubelets(host, options, server, parts);
  const asked = {
    nodes,
    metrics,
    ...given({ unpullable, devices, recovery, stages, kubelet, failures }),
    rootCa: options.rootCa ?? options.pki.authority.certificate,
    mintLegacyToken: access.mintLegacyToken,
    certificates: certificateSigning(host, options),
    signDetached,
    checkPolicyTypes: policyTypeChecker(server.catalog),
  };
  const loops = await parts.open("loops", () => startLoops(host, server.handler, asked), {
    close: (started) => started.stop(),
  });
  return loops;
}

/** Opens the kubelets' endpoint before the loops, because nodes register with its port. Undefined: it is not configured. */
async function openKubelets(
  host: SupervisedHost,
  { hollowKubelets: at, pki, stages }: PlaneOptions,
  { handler }: ApiServer,
  parts: Parts,
): Promise<{ readonly address: string; readonly port: number } | undefined> {
  if (at === undefined) return undefined;
  const user = { name: "pilothouse:hollow-nodes", groups: [groups.masters] };
  const client = directClient(handler, user, componentUserAgent("kubelet"));
  const clientCa = pki.authority.certificate;
  const deps = { host, client, clientCa, ...given({ rules: stages?.rules }) };
  const listening = await parts.open("kubelets", () => listenAsKubelets(deps, at), {
    close: (opened) => opened.close(limits.shutdownMs),
  });
  return { address: at.host, port: listening.address.port };
}

function certificateSigning(host: Host, options: PlaneOptions): SigningOptions {
  const { pki, signingAuthority: authority = () => pki.authority } = options;
  const lifetimeMostMs = options.signingLifetimeMs ?? limits.signingLifetimeMs;
  const { signers } = options;
  const some = given({ signers });
  return { authority: new ClusterSigner({ ...host, authority, ...some }), lifetimeMostMs };
}
