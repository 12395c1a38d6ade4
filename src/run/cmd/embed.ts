/**
 * `import { startControlPlane } from "pilothouse"`: a whole control plane in this process, for tests
 * of controllers and clients. The same code as `pilothouse up`.
 */
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { Disk } from "#platform/disk.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { processTurns } from "#platform/node/http/process-turns.ts";
import { nodeLog, type LogLevel } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { advertisedAddress } from "./plane/advertise.ts";
import { holdDataDirectory } from "./shared/data-dir.ts";
import * as limits from "./shared/limits.ts";
import { recoveryDefaults } from "./shared/recovery.ts";
import { Parts } from "./shared/parts.ts";
import { startPlane } from "./plane/plane.ts";
import { servedResources } from "./plane/runtime-config.ts";

export type { Client } from "#client/client.ts";

export interface ControlPlaneOptions {
  /** Directory of the persistent state. Absent: the state is in memory and lost at `stop`. */
  readonly dataDir?: string;
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Port to listen on. Default: 0, any free port. */
  readonly port?: number;
  /** Number of hollow nodes. Default: 1. */
  readonly nodes?: number;
  /** Level of the JSON lines on standard error. Default: "warn". */
  readonly logLevel?: LogLevel;
}

export interface ControlPlane {
  /** URL of the API server, such as `https://127.0.0.1:40123`. */
  readonly url: string;
  /** A cluster-admin kubeconfig as YAML text. */
  readonly kubeconfig: string;
  /** In-process client with cluster-admin rights. It uses no socket, and its objects are shared and frozen. */
  readonly client: Client;
  /** Resolves when every loop, connection and file is closed. Call once. */
  stop(): Promise<void>;
}

/**
 * Resolves when the API is ready and the nodes are registered. Rejects with UsageError when the port is busy or the
 * directory cannot be used; nothing is open or left behind then.
 */
export function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const parts = new Parts();
  return parts.closeOnFailure(() => openControlPlane(options, parts));
}

/** Does the work of `startControlPlane`. Adds each opened resource to `parts`, which the caller closes after a failure. */
export async function openControlPlane(
  options: ControlPlaneOptions,
  parts: Parts,
): Promise<ControlPlane> {
  const { host = "127.0.0.1", port = 0, nodes = 1, logLevel = "warn" } = options;
  const log = nodeLog({ level: logLevel, destination: 2 });
  const platform = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log,
    requests: processTurns,
  };
  const files = await openFiles(platform.disk, options, parts);
  const { serviceAddress } = limits;
  const advertised = advertisedAddress(log, { host });
  const extraHosts = [host, ...Object.values(advertised)];
  const pki = ensurePki(files.pki, { ...platform, extraHosts, serviceAddress });
  const planeOptions = {
    ...given({ storeDirectory: files.store }),
    ...advertised,
    resources: servedResources(new Map()),
    pki,
    host,
    port,
    nodes,
    recovery: recoveryDefaults,
  };
  const plane = await startPlane(platform, planeOptions, parts.nest("plane"));
  await plane.registered;
  return {
    url: plane.url,
    kubeconfig: adminKubeconfig(plane.url, pki),
    client: plane.client,
    stop: () => parts[Symbol.asyncDispose](),
  };
}

interface ControlPlaneFiles {
  readonly pki: string;
  /** Directory of the store. Absent: objects are kept in memory. */
  readonly store?: string;
}

async function openFiles(
  disk: Disk,
  { dataDir }: ControlPlaneOptions,
  parts: Parts,
): Promise<ControlPlaneFiles> {
  if (dataDir !== undefined) return holdDataDirectory(disk, dataDir, parts);
  const temporary = (): string => mkdtempSync(join(tmpdir(), "pilothouse-pki-"));
  const pki = await parts.open("temporary-keys", temporary, {
    close: (path) => rmSync(path, { recursive: true, force: true }),
  });
  return { pki };
}

function adminKubeconfig(server: string, pki: Pki): string {
  return kubeconfigYaml({
    server,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
    user: "kubernetes-admin",
    cluster: "pilothouse",
  });
}
