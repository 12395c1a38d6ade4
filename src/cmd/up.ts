/** `pilothouse up`: a plane over a data directory, until Ctrl-C or SIGTERM. */
import { exitOnStoreFailure } from "./store-failure.ts";
import { relative } from "node:path";
import type { Pki } from "#auth/pki-files.ts";
import { keepLittleFreeMemory } from "#platform/node/spare-memory.ts";
import { clusterPki } from "./cluster-pki.ts";
import { openDataDirectory, type DataDirectory } from "./data-dir.ts";
import type { AuditFile } from "./audit-file.ts";
import type { Host } from "./host.ts";
import { kubeAdmin, writeKubeconfig } from "./kubeconfig-file.ts";
import { nodeHost } from "./node-host.ts";
import { serverOptions } from "./server-options.ts";
import { startError } from "./start-error.ts";
import type { UpFlags } from "./up-flags.ts";
import { startPlane, type Plane, type PlaneOptions } from "./plane.ts";
import { productVersion } from "./product.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { onStopSignal } from "./stop-signal.ts";
import { advertisedAddress } from "./advertise.ts";
import { signingOf } from "./signing.ts";
import type { BesideRelay } from "./up-relay.ts";
import { UsageError } from "./usage-error.ts";

export async function up(flags: UpFlags): Promise<void> {
  keepLittleFreeMemory();
  const stopped = new Promise<"stop">((resolve) => onStopSignal(() => resolve("stop")));
  const host = nodeHost(flags);
  const signing = signingOf(flags);
  const { audit, options } = await serverOptions(host, flags);
  const directory = await openDataDirectory(host.disk, flags.dataDir);
  const advertised = advertisedAddress(host.log, flags);
  const pki = clusterPki(host, directory, [flags.host, ...Object.values(advertised)]);
  const plane = await start(host, directory, pki, flags, { ...options, ...signing, ...advertised });
  const relay = await relayBeside(host, plane, pki, flags, audit);
  writeKubeconfig(directory.kubeconfig, plane.url, pki, kubeAdmin(pki));
  process.stdout.write(readyText(plane, directory, flags, relay));
  const spare = giveMemoryBack(host.clock);
  const failure = await Promise.race([stopped, plane.failed]);
  if (failure instanceof Error) return exitOnStoreFailure(failure);
  spare.stop();
  await relay?.stop();
  await plane.stop();
  await audit?.close();
  await directory.lock.release();
  process.stdout.write("stopped\n");
}

async function start(
  host: Host,
  directory: DataDirectory,
  pki: Pki,
  flags: UpFlags,
  more: Partial<PlaneOptions>,
): Promise<Plane> {
  try {
    return await startPlane(host, {
      storeDirectory: directory.store,
      pki,
      host: flags.host,
      port: flags.port,
      nodes: flags.nodes,
      unpullable: flags.imagePullError,
      ...more,
    });
  } catch (error) {
    throw startError(error, directory.store, { ...flags, portFlag: "--port", hostFlag: "--host" });
  }
}

/** Undefined: not asked for. Its code is loaded only then. */
async function relayBeside(
  host: Host,
  plane: Plane,
  pki: Pki,
  flags: UpFlags,
  audit: AuditFile | undefined,
): Promise<BesideRelay | undefined> {
  if (flags.relay === undefined) {
    if (flags.xdsListen === undefined) return undefined;
    await plane.stop();
    throw new UsageError("--xds-listen is served by the relay: give --relay with it");
  }
  try {
    const { startRelayBeside } = await import("./up-relay.ts");
    const more = audit === undefined ? {} : { audit };
    return await startRelayBeside(host, plane, pki, { ...flags, relay: flags.relay, ...more });
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

function readyText(
  plane: Plane,
  directory: DataDirectory,
  flags: UpFlags,
  relay: BesideRelay | undefined,
): string {
  const beside = relay === undefined ? "" : `\n  relay       ${relay.url}${relay.xds}`;
  const seconds = (performance.now() / 1000).toFixed(2);
  const path = relative(process.cwd(), directory.kubeconfig);
  const shown = path.startsWith("..") ? directory.kubeconfig : path;
  return `pilothouse ${productVersion} (Kubernetes 1.36) ready in ${seconds} s
  API         ${plane.url}${beside}
  data        ${directory.path}
  kubeconfig  ${directory.kubeconfig}
  nodes       ${flags.nodes} hollow

Try next:
  export KUBECONFIG=${shown}
  kubectl create deployment web --image=nginx --replicas=20 && kubectl get pods -o wide
`;
}
