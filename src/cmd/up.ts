/** `pilothouse up`: a plane over a data directory, until Ctrl-C or SIGTERM. */
import { choiceFault, type PluginChoice } from "#admission/plugin-choice.ts";
import { exitOnStoreFailure } from "./store-failure.ts";
import { renameSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, PkiError, type Pki } from "#auth/pki-files.ts";
import { StaticTokens } from "#auth/token-file.ts";
import { DiskError } from "#platform/disk.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { nodeLog } from "#platform/node/log.ts";
import { keepLittleFreeMemory } from "#platform/node/spare-memory.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { admissionConfiguration } from "./admission-configuration.ts";
import { aggregationAccess } from "./aggregation.ts";
import { type AuditFile, openAuditFile } from "./audit-file.ts";
import { openDataDirectory, type DataDirectory } from "./data-dir.ts";
import type { Host, SupervisedHost } from "./host.ts";
import { kubeletAccess } from "./kubelets.ts";
import * as limits from "./limits.ts";
import type { UpFlags } from "./up-flags.ts";
import { startPlane, type Plane, type PlaneOptions } from "./plane.ts";
import { productVersion } from "./product.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { onStopSignal } from "./stop-signal.ts";
import { supervised } from "./supervise.ts";
import { advertisedAddress } from "./advertise.ts";
import { readOperatorFile } from "./operator-file.ts";
import { frontProxyTrust } from "./request-header.ts";
import { signingOf } from "./signing.ts";
import type { BesideRelay } from "./up-relay.ts";
import { UsageError } from "./usage-error.ts";

export async function up(flags: UpFlags): Promise<void> {
  keepLittleFreeMemory();
  const stopped = new Promise<"stop">((resolve) => onStopSignal(() => resolve("stop")));
  const host = hostOf(flags);
  const staticTokens = staticTokensOf(flags);
  const kubelet = kubeletAccess(flags);
  const aggregation = aggregationAccess(flags);
  const signing = signingOf(flags);
  const frontProxy = frontProxyTrust(flags);
  const admissionPlugins = pluginChoice(flags);
  const configured = admissionConfiguration(flags.admissionControlConfigFile, admissionPlugins);
  const audit = await auditOf(host, flags);
  const directory = await openDataDirectory(host.disk, flags.dataDir);
  const advertised = advertisedAddress(host.log, flags);
  const pki = pkiOf(host, directory, [flags.host, ...Object.values(advertised)]);
  const plane = await start(host, directory, pki, flags, {
    kubelet,
    aggregation,
    admissionPlugins,
    admission: configured,
    ...(frontProxy === undefined ? {} : { frontProxy }),
    ...(audit === undefined ? {} : { audit }),
    ...(staticTokens === undefined ? {} : { staticTokens }),
    ...signing,
    ...advertised,
  });
  const relay = await relayBeside(host, plane, pki, flags, audit);
  writeKubeconfig(directory, pki, plane);
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

function hostOf(flags: UpFlags): SupervisedHost & { readonly disk: NodeDisk } {
  return supervised({
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: nodeLog({ level: flags.logLevel, destination: 2 }),
  });
}

function pkiOf(host: Host, directory: DataDirectory, extraHosts: readonly string[]): Pki {
  try {
    return ensurePki(directory.pki, {
      ...host,
      extraHosts,
      serviceAddress: limits.serviceAddress,
    });
  } catch (error) {
    if (error instanceof PkiError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
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
      anonymousPaths: flags.anonymousPaths,
      unpullable: flags.imagePullError,
      ...more,
      compactPeriodMs: flags.compactEvery * 1000,
    });
  } catch (error) {
    throw startError(error, directory, flags);
  }
}

/** @throws UsageError for an unknown name. */
function pluginChoice(flags: UpFlags): PluginChoice {
  const { enableAdmissionPlugins: enable, disableAdmissionPlugins: disable } = flags;
  const fault = choiceFault({ enable, disable });
  if (fault !== undefined) throw new UsageError(fault);
  return { enable, disable };
}

/** Undefined: not asked for. Its code is loaded only then. */
async function relayBeside(
  host: Host,
  plane: Plane,
  pki: Pki,
  flags: UpFlags,
  audit: AuditFile | undefined,
): Promise<BesideRelay | undefined> {
  if (flags.relay === undefined) return undefined;
  try {
    const { startRelayBeside } = await import("./up-relay.ts");
    const more = audit === undefined ? {} : { audit };
    return await startRelayBeside(host, plane, pki, { ...flags, relay: flags.relay, ...more });
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

function startError(error: unknown, directory: DataDirectory, flags: UpFlags): unknown {
  // The listener says what was wrong; which of our flags mends it is said here.
  const { code = "" } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  const at = `${flags.host} port ${flags.port}`;
  if (code === "EADDRINUSE") {
    return new UsageError(
      `${at} is in use; give another with --port, or --port 0 for any free one`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new UsageError(`${flags.host} is no address of this machine; give one with --host`);
  }
  if (code === "EACCES" && !(error instanceof DiskError)) {
    return new UsageError(`not allowed to listen on ${at}; ports below 1024 need privileges`);
  }
  const isStore =
    error instanceof DiskError || (error instanceof Error && /Corruption|Foreign/.test(error.name));
  if (!isStore) return error;
  return new UsageError(`cannot open the store in ${directory.store}: ${error.message}`, {
    cause: error,
  });
}

function staticTokensOf({ tokenAuthFile }: UpFlags): StaticTokens | undefined {
  if (tokenAuthFile === undefined) return undefined;
  const text = readOperatorFile(tokenAuthFile);
  try {
    return new StaticTokens(text);
  } catch (error) {
    throw new UsageError(`--token-auth-file ${tokenAuthFile}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Before anything else is opened: a path that cannot be written must not cost a started plane. */
async function auditOf(host: Host, flags: UpFlags): Promise<AuditFile | undefined> {
  if (flags.auditLog === undefined) return undefined;
  const audit = await openAuditFile(host, flags.auditLog);
  process.on("SIGHUP", () => audit.reopen());
  return audit;
}

function writeKubeconfig(directory: DataDirectory, pki: Pki, plane: Plane): void {
  const text = kubeconfigYaml({
    server: plane.url,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
    user: "kubernetes-admin",
    cluster: "pilothouse",
  });
  const next = `${directory.kubeconfig}.new`;
  writeFileSync(next, text, { mode: 0o600 });
  renameSync(next, directory.kubeconfig);
}

function readyText(
  plane: Plane,
  directory: DataDirectory,
  flags: UpFlags,
  relay: BesideRelay | undefined,
): string {
  const beside = relay === undefined ? "" : `\n  relay       ${relay.url}`;
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
