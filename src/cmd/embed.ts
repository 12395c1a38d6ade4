/**
 * `import { startControlPlane } from "pilothouse"`: a whole control plane in this process, for tests
 * of controllers and clients. The same code as `pilothouse up`.
 */
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki } from "#auth/pki-files.ts";
import type { Client } from "#client/client.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { nodeLog, type LogLevel } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { advertisedAddress } from "./advertise.ts";
import { openDataDirectory } from "./data-dir.ts";
import * as limits from "./limits.ts";
import { startPlane } from "./plane.ts";
import { servedResources } from "./runtime-config.ts";

export type { Client } from "#client/client.ts";

export interface ControlPlaneOptions {
  /** Kept there and found again; absent: in memory, gone at `stop`. */
  readonly dataDir?: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Hollow nodes; default 1. */
  readonly nodes?: number;
  /** JSON lines on standard error; default "warn". */
  readonly logLevel?: LogLevel;
}

export interface ControlPlane {
  /** `https://127.0.0.1:40123`. */
  readonly url: string;
  /** A cluster-admin kubeconfig as YAML text. */
  readonly kubeconfig: string;
  /** As cluster-admin, in process: no socket, objects are shared and frozen. */
  readonly client: Client;
  /** Resolves when every loop, connection and file is closed. Call once. */
  stop(): Promise<void>;
}

/** Resolves when the API is ready and the nodes are registered. Rejects with UsageError when the port is busy or the directory cannot be used. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { host = "127.0.0.1", port = 0, nodes = 1, logLevel = "warn" } = options;
  const log = nodeLog({ level: logLevel, destination: 2 });
  const platform = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk(), log };
  const directory =
    options.dataDir === undefined
      ? undefined
      : await openDataDirectory(platform.disk, options.dataDir);
  const keys = directory?.pki ?? mkdtempSync(join(tmpdir(), "pilothouse-pki-"));
  const { serviceAddress } = limits;
  const advertised = advertisedAddress(log, { host });
  const extraHosts = [host, ...Object.values(advertised)];
  const pki = ensurePki(keys, { ...platform, extraHosts, serviceAddress });
  const store = directory === undefined ? {} : { storeDirectory: directory.store };
  const plane = await startPlane(platform, {
    ...store,
    ...advertised,
    resources: servedResources(new Map()),
    pki,
    host,
    port,
    nodes,
  });
  await plane.registered;
  const kubeconfig = kubeconfigYaml({
    server: plane.url,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
    user: "kubernetes-admin",
    cluster: "pilothouse",
  });
  return {
    url: plane.url,
    kubeconfig,
    client: plane.client,
    async stop() {
      await plane.stop();
      await directory?.lock.release();
      if (directory === undefined) rmSync(keys, { recursive: true, force: true });
    },
  };
}
