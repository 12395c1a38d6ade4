/** `pilothouse up`: a plane over a data directory, until Ctrl-C or SIGTERM. */
import { relative } from "node:path";
import { given } from "#base/given.ts";
import type { Pki } from "#auth/pki-files.ts";
import { keepLittleFreeMemory } from "#platform/node/spare-memory.ts";
import { advertisedAddress } from "../plane/advertise.ts";
import { clusterPki } from "../shared/cluster-pki.ts";
import { type DataDirectory, holdDataDirectory } from "../shared/data-dir.ts";
import { devicesOf } from "../shared/device-file.ts";
import { failuresOf } from "../shared/failure-file.ts";
import { nodeStages, type StagePlan, stagePlanOf } from "../shared/hollow-stages.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { kubeAdmin, writeKubeconfig } from "../shared/kubeconfig-file.ts";
import { nodeHost } from "../shared/node-host.ts";
import type { Parts } from "../shared/parts.ts";
import { type Plane, startPlane } from "../plane/plane.ts";
import type { PlaneOptions } from "../plane/options.ts";
import { productVersion } from "../shared/product.ts";
import { recoveryLimitsOf } from "../shared/recovery.ts";
import { type OpenRole, runToEnd, type Started } from "../shared/role-life.ts";
import { serverOptions } from "../plane/server-options.ts";
import { workersOf } from "../plane/workers/workers-of.ts";
import { openNodeGroups } from "../shared/node-group-role.ts";
import { hollowStartMs, hollowStopMs } from "../shared/limits.ts";
import { hollowDefaults } from "#hollow/options.ts";
import { signingOf } from "../shared/signing.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { startError } from "../shared/start-error.ts";
import { exitOnStoreFailure } from "../shared/store-failure.ts";
import type { UpFlags } from "./flags.ts";
import type { BesideRelay } from "./relay.ts";
import { gangGates } from "../shared/stock-flags/feature-gates.ts";
import { UsageError } from "../shared/usage-error.ts";

export function up(flags: UpFlags): Promise<void> {
  keepLittleFreeMemory();
  const host = nodeHost(flags);
  const open: OpenRole = (parts, stopping) => openUp(host, flags, parts, stopping);
  return runToEnd(open, { onFailed: exitOnStoreFailure });
}

export async function openUp(
  host: SupervisedHost,
  flags: UpFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started> {
  if (flags.relay === undefined && flags.xdsListen !== undefined) {
    throw new UsageError("--xds-listen is served by the relay: give --relay with it");
  }
  const signing = signingOf(flags);
  const stages = stagePlanOf(flags.hollowStages, flags.hollowEnableCrds);
  const devices = given({
    devices: devicesOf(flags.devices),
    stages,
    failures: failuresOf(flags.hollowFailures),
    hollowKubelets: flags.hollowKubeletListen,
  });
  const options = await serverOptions(host, withGangs(flags), parts);
  const directory = await holdDataDirectory(host.disk, flags.dataDir, parts);
  const advertised = advertisedAddress(host.log, flags);
  const pki = clusterPki(host, directory, [flags.host, ...Object.values(advertised)]);
  const workers = workersOf(withGangs(flags), new URL("./worker.ts", import.meta.url));
  const more = { ...options, ...signing, ...advertised, ...devices, pki, ...given({ workers }) };
  const plane = await openPlane(host, { directory, flags, more }, parts.nest("plane"));
  const groups = await openNodeGroupsOf(host, plane, { flags, stages }, parts);
  const relay = await openRelayBeside(host, { plane, pki, flags, options, stopping }, parts);
  writeKubeconfig(directory.kubeconfig, plane.url, pki, kubeAdmin(pki));
  await openSpareMemory(host.clock, parts);
  return { text: readyText(plane, directory, flags, { relay, groups }), failed: plane.failed };
}

/** Expands `--gangs` to the two stock flags that it stands for. */
function withGangs(flags: UpFlags): UpFlags {
  if (flags.gangs !== true) return flags;
  const { featureGates = [], runtimeConfig } = flags;
  return {
    ...flags,
    featureGates: [...gangGates, ...featureGates],
    runtimeConfig: new Map([["scheduling.k8s.io/v1alpha2", "true"], ...runtimeConfig]),
  };
}

async function openPlane(
  host: SupervisedHost,
  planned: {
    readonly directory: DataDirectory;
    readonly flags: UpFlags;
    readonly more: Partial<PlaneOptions> & Pick<PlaneOptions, "pki">;
  },
  parts: Parts,
): Promise<Plane> {
  const { directory, flags, more } = planned;
  try {
    const options = {
      storeDirectory: directory.store,
      host: flags.host,
      port: flags.port,
      nodes: flags.nodes,
      unpullable: flags.imagePullError,
      ...given({ recovery: recoveryLimitsOf(flags) }),
      hasHollowMetrics: flags.hollowMetrics,
      ...more,
    };
    return await startPlane(host, options, parts);
  } catch (error) {
    throw startError(error, directory.store, { ...flags, portFlag: "--port", hostFlag: "--host" });
  }
}

/** @returns a line for the operator with the address of the node groups, or "" without node groups. */
async function openNodeGroupsOf(
  host: SupervisedHost,
  plane: Plane,
  { flags, stages }: { readonly flags: UpFlags; readonly stages: StagePlan | undefined },
  parts: Parts,
): Promise<string> {
  const { hollowNodeGroups: path } = flags;
  if (path === undefined) return "";
  const options = {
    ...hollowDefaults,
    count: 0,
    firstIndex: flags.nodes,
    startMs: hollowStartMs,
    stopMs: hollowStopMs,
    unpullable: flags.imagePullError,
  };
  // With nodes in this process, the plane itself runs the stages of other kinds.
  const own = flags.nodes === 0 ? stages : nodeStages(stages);
  const asked = { path, flags, options, stages: own };
  const provider = await openNodeGroups(host, plane, asked, parts);
  return `\n  node groups ${provider.address} (externalgrpc)`;
}

interface RelayBeside {
  readonly plane: Plane;
  readonly pki: Pki;
  readonly flags: UpFlags;
  readonly options: Pick<PlaneOptions, "audit">;
  readonly stopping: AbortSignal;
}

/** Imports the code of the relay and opens it. Undefined: the flag is not given, and nothing is imported. */
async function openRelayBeside(
  host: SupervisedHost,
  { plane, pki, flags, options: { audit }, stopping }: RelayBeside,
  parts: Parts,
): Promise<BesideRelay | undefined> {
  const { relay } = flags;
  if (relay === undefined) return undefined;
  const { openRelayOf } = await import("./relay.ts");
  const more = given({ audit });
  return openRelayOf(host, plane, pki, { ...flags, relay, ...more }, parts.nest("relay"), stopping);
}

function readyText(
  plane: Plane,
  directory: DataDirectory,
  flags: UpFlags,
  { relay, groups }: { readonly relay: BesideRelay | undefined; readonly groups: string },
): string {
  const beside = relay === undefined ? "" : `\n  relay       ${relay.url}${relay.xds}`;
  const seconds = (performance.now() / 1000).toFixed(2);
  const path = relative(process.cwd(), directory.kubeconfig);
  const shown = path.startsWith("..") ? directory.kubeconfig : path;
  return `pilothouse ${productVersion} (Kubernetes 1.36) ready in ${seconds} s
  API         ${plane.url}${beside}
  data        ${directory.path}
  kubeconfig  ${directory.kubeconfig}
  nodes       ${flags.nodes} hollow${groups}

Try next:
  export KUBECONFIG=${shown}
  kubectl create deployment web --image=nginx --replicas=20 && kubectl get pods -o wide
`;
}
