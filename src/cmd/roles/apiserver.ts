/** `pilothouse apiserver`: the API server alone, over a store of its own, until SIGTERM. */
import { hostname } from "node:os";
import { join } from "node:path";
import type { Pki } from "#auth/pki-files.ts";
import { keepLittleFreeMemory } from "#platform/node/spare-memory.ts";
import { advertisedAddress } from "../advertise.ts";
import type { ApiServerFlags } from "../api-flags.ts";
import { clusterPki } from "../cluster-pki.ts";
import { type DataDirectory, openDataDirectory } from "../data-dir.ts";
import type { Host } from "../host.ts";
import { kubeAdmin, writeKubeconfig } from "../kubeconfig-file.ts";
import { nodeHost } from "../node-host.ts";
import { type Plane, type PlaneOptions, startPlane } from "../plane.ts";
import { productVersion } from "../product.ts";
import { serverOptions } from "../server-options.ts";
import { giveMemoryBack } from "../spare-memory.ts";
import { startError } from "../start-error.ts";
import { onStopSignal } from "../stop-signal.ts";
import { exitOnStoreFailure } from "../store-failure.ts";
import { type IdentityFlags, identityOf, withFiles } from "./apiserver-identity.ts";
import { type EtcdFlags, etcdStorage } from "./etcd-storage.ts";
import { firstAddress, type ServiceFlags, servicesOf } from "./apiserver-services.ts";

export interface ApiServerRoleFlags extends ApiServerFlags, IdentityFlags, ServiceFlags, EtcdFlags {
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly securePort: number;
  /** Milliseconds. */
  readonly eventTtl: number;
}

export async function apiServerRole(flags: ApiServerRoleFlags): Promise<void> {
  keepLittleFreeMemory();
  const stopped = new Promise<"stop">((resolve) => onStopSignal(() => resolve("stop")));
  const host = nodeHost(flags);
  const identity = identityOf(flags);
  const serviceAddresses = servicesOf(flags);
  const storage = await etcdStorage(flags);
  const { audit, options } = await serverOptions(host, flags);
  const directory = await openDataDirectory(host.disk, flags.dataDir);
  const advertised = advertisedAddress(host.log, { ...flags, host: flags.bindAddress });
  const hosts = [flags.bindAddress, ...Object.values(advertised)];
  const own = clusterPki(host, directory, hosts, firstAddress(serviceAddresses));
  const plane = await start(host, directory, flags, {
    ...options,
    ...identity.options,
    ...advertised,
    ...storage,
    ...(storage.openStore === undefined ? {} : { isOneOfSeveral: true }),
    serviceAddresses,
    identity: hostname(),
    eventTtlSeconds: Math.ceil(flags.eventTtl / 1_000),
    pki: withFiles(own, identity),
  });
  const written = identity.isOwn ? writeKubeconfigs(directory, plane, own) : [];
  process.stdout.write(readyText(plane, directory, written));
  const spare = giveMemoryBack(host.clock);
  const failure = await Promise.race([stopped, plane.failed]);
  if (failure instanceof Error) return exitOnStoreFailure(failure);
  spare.stop();
  await plane.stop();
  await audit?.close();
  await directory.lock.release();
  process.stdout.write("stopped\n");
}

async function start(
  host: Host,
  directory: DataDirectory,
  { bindAddress, securePort }: ApiServerRoleFlags,
  options: Omit<PlaneOptions, "host" | "port" | "nodes">,
): Promise<Plane> {
  const at = { host: bindAddress, port: securePort };
  try {
    const alone = { nodes: 0, loops: "none" } as const;
    return await startPlane(host, { ...options, ...at, ...alone, storeDirectory: directory.store });
  } catch (error) {
    const asked = { ...at, hostFlag: "--bind-address", portFlag: "--secure-port" };
    throw startError(error, directory.store, asked);
  }
}

/** kubeadm's names. @returns their paths. */
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
