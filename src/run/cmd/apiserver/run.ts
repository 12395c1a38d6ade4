/** `pilothouse apiserver`: the API server alone, with its own store, until SIGTERM. */
import { hostname } from "node:os";
import { join } from "node:path";
import { given } from "#base/given.ts";
import { certificateHosts, type IssuedCertificate } from "#auth/pki.ts";
import type { Pki } from "#auth/pki-files.ts";
import { keepLittleFreeMemory } from "#platform/node/spare-memory.ts";
import { advertisedAddress } from "../plane/advertise.ts";
import { clusterPki } from "../shared/cluster-pki.ts";
import { type DataDirectory, holdDataDirectory } from "../shared/data-dir.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { kubeAdmin, writeKubeconfig } from "../shared/kubeconfig-file.ts";
import { nodeHost } from "../shared/node-host.ts";
import type { Parts } from "../shared/parts.ts";
import { type Plane, startPlane } from "../plane/plane.ts";
import type { PlaneOptions } from "../plane/options.ts";
import { productVersion } from "../shared/product.ts";
import { runToEnd, type Started } from "../shared/role-life.ts";
import { serverOptions } from "../plane/server-options.ts";
import { workersOf } from "../plane/workers/workers-of.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { startError } from "../shared/start-error.ts";
import { exitOnStoreFailure } from "../shared/store-failure.ts";
import { identityOf, servingFilesOf, tokenKeyFilesOf, withFiles } from "./identity.ts";
import { certDirPair } from "./cert-dir.ts";
import { etcdStorage } from "./storage.ts";
import { firstAddress, servicesOf } from "./services.ts";
import type { ApiServerRoleFlags } from "./flags.ts";

export function apiServerRole(flags: ApiServerRoleFlags): Promise<void> {
  keepLittleFreeMemory();
  const host = nodeHost(flags);
  return runToEnd((parts) => openApiServer(host, flags, parts), { onFailed: exitOnStoreFailure });
}

export async function openApiServer(
  host: SupervisedHost,
  flags: ApiServerRoleFlags,
  parts: Parts,
): Promise<Started> {
  const identity = identityOf(flags);
  const servingFiles = servingFilesOf(flags, identity, flags.requestheaderClientCaFile);
  const serviceAddresses = servicesOf(flags);
  const storage = await etcdStorage(flags);
  const options = await serverOptions(host, flags, parts);
  const directory = await holdDataDirectory(host.disk, dataDirOf(flags), parts);
  const advertised = advertisedAddress(host.log, { ...flags, host: flags.bindAddress });
  const hosts = [flags.bindAddress, ...Object.values(advertised)];
  const own = clusterPki(host, directory, hosts, firstAddress(serviceAddresses));
  const planeOptions = {
    ...options,
    ...identity.options,
    ...given({ servingFiles, tokenKeyFiles: tokenKeyFilesOf(flags, identity) }),
    ...advertised,
    ...storage,
    ...(storage.openStore === undefined ? {} : { isOneOfSeveral: true }),
    serviceAddresses,
    identity: hostname(),
    eventTtlSeconds: Math.ceil(flags.eventTtl / 1_000),
    pki: withFiles(own, { ...servingPair(host, flags, own), ...identity }),
    hasBootstrapTokens: flags.enableBootstrapTokenAuth,
  };
  const workers = workersOf(flags, new URL("./worker.ts", import.meta.url));
  const withWorkers = { ...planeOptions, ...given({ workers }) };
  const planned = { directory, flags, planeOptions: withWorkers };
  const plane = await openPlane(host, planned, parts.nest("plane"));
  const written = identity.isOwn ? writeKubeconfigs(directory, plane, own) : [];
  await openSpareMemory(host.clock, parts);
  return { text: readyText(plane, directory, written), failed: plane.failed };
}

/** With kube-apiserver's flags only, the data directory is a subdirectory of the certificate directory. */
function dataDirOf({ dataDir, certDir }: ApiServerRoleFlags): string {
  return dataDir ?? (certDir === undefined ? ".pilothouse" : join(certDir, "pilothouse"));
}

/**
 * Returns the pair in `certDir`, issued for the names of the data directory's own pair. Absent member: that own pair,
 * or a pair from files, is used.
 */
function servingPair(
  host: SupervisedHost,
  { certDir, tlsCertFile }: ApiServerRoleFlags,
  { server }: Pki,
): { readonly server?: IssuedCertificate } {
  if (certDir === undefined || tlsCertFile !== undefined) return {};
  return { server: certDirPair(host, certDir, certificateHosts(server.certificate)) };
}

interface PlaneDeps {
  readonly directory: DataDirectory;
  readonly flags: ApiServerRoleFlags;
  readonly planeOptions: Omit<PlaneOptions, "host" | "port" | "nodes">;
}

async function openPlane(
  host: SupervisedHost,
  { directory, flags: { bindAddress, securePort }, planeOptions }: PlaneDeps,
  parts: Parts,
): Promise<Plane> {
  const at = { host: bindAddress, port: securePort };
  try {
    const alone = { nodes: 0, loops: "none" } as const;
    const options = { ...planeOptions, ...at, ...alone, storeDirectory: directory.store };
    return await startPlane(host, options, parts);
  } catch (error) {
    const asked = { ...at, hostFlag: "--bind-address", portFlag: "--secure-port" };
    throw startError(error, directory.store, asked);
  }
}

/** Writes the kubeconfigs under kubeadm's names. @returns their paths. */
function writeKubeconfigs(directory: DataDirectory, plane: Plane, pki: Pki): readonly string[] {
  const users = [
    { file: "scheduler.conf", name: "system:kube-scheduler", certificate: pki.scheduler },
    {
      file: "controller-manager.conf",
      name: "system:kube-controller-manager",
      certificate: pki.controllerManager,
    },
  ];
  writeKubeconfig(directory.kubeconfig, plane.url, pki, kubeAdmin(pki));
  const others = users.map(({ file, ...user }) => {
    const path = join(directory.path, file);
    writeKubeconfig(path, plane.url, pki, user);
    return path;
  });
  return [directory.kubeconfig, ...others];
}

function readyText(plane: Plane, directory: DataDirectory, kubeconfigs: readonly string[]): string {
  const seconds = (performance.now() / 1000).toFixed(2);
  const lines = kubeconfigs.map((path) => `\n  kubeconfig  ${path}`).join("");
  return `pilothouse ${productVersion} apiserver (Kubernetes 1.36) ready in ${seconds} s
  API         ${plane.url}
  data        ${directory.path}${lines}
`;
}
