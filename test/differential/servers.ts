/**
 * The two servers compared: ours in this process without its loops, and a stock kube-apiserver with an
 * etcd, both started anew with empty stores. Stock has no controllers either: what is compared is the API.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePki } from "#auth/pki-files.ts";
import { admissionConfiguration } from "#cmd/plane/admission-configuration.ts";
import * as limits from "#cmd/shared/limits.ts";
import { startPlane } from "#cmd/plane/plane.ts";
import type { PlaneOptions } from "#cmd/plane/options.ts";
import { servedResources } from "#cmd/plane/runtime-config.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { startApiServer } from "../process/stock-apiserver.ts";
import type { AdmissionFlags } from "./exchange.ts";
import type { Target } from "./send.ts";
import type { StockPrograms } from "../process/peers.ts";

export interface Server extends Target {
  stop(): Promise<void>;
}

export async function startOurs(port = 0, flags?: AdmissionFlags): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-differential-"));
  const level = (process.env["PILOTHOUSE_LOG"] ?? "error") as "error";
  const log = nodeLog({ level, destination: 2 });
  const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk(), log };
  const { serviceAddress } = limits;
  const pki = ensurePki(directory, { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
  const resources = servedResources(new Map());
  const base = { pki, host: "127.0.0.1", port, nodes: 0, loops: "none", resources } as const;
  const plane = await startPlane(host, { ...base, ...admissionOptions(directory, flags) });
  const agent = new https.Agent({
    keepAlive: true,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  });
  return {
    url: plane.url,
    agent,
    headers: {},
    async stop() {
      agent.destroy();
      await plane.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function admissionOptions(directory: string, flags?: AdmissionFlags): Partial<PlaneOptions> {
  if (flags === undefined) return {};
  const { enable, disable } = flags;
  const admissionPlugins = { enable, disable };
  const admission = admissionConfiguration(configurationFile(directory, flags), admissionPlugins);
  return { admissionPlugins, admission };
}

function configurationFile(directory: string, { configuration }: AdmissionFlags): string {
  const path = join(directory, "admission.yaml");
  writeFileSync(path, JSON.stringify(configuration)); // JSON is YAML too
  return path;
}

export interface StockServer extends Server {
  /** The administrator's. */
  readonly kubeconfig: string;
  /** Its own, self-signed: `apiserver.crt` and `apiserver.key`. */
  readonly pki: string;
  /** The API server and its etcd. */
  readonly pids: readonly number[];
}

export async function startStock(
  programs: StockPrograms,
  flags?: AdmissionFlags,
): Promise<StockServer> {
  const directory = mkdtempSync(join(tmpdir(), "differential-stock-"));
  const etcd = await startEtcd(programs.etcd);
  const args = [`--etcd-servers=${etcd.url}`, ...admissionArgs(directory, flags)];
  const server = await startApiServer(programs.apiserver, directory, args);
  return {
    ...server,
    pki: join(directory, "certs"),
    pids: [server.pid, etcd.pid ?? 0],
    settleMs: 200,
    async stop() {
      await server.stop();
      await etcd.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function admissionArgs(directory: string, flags?: AdmissionFlags): readonly string[] {
  if (flags === undefined) return [];
  return [
    `--enable-admission-plugins=${flags.enable.join(",")}`,
    `--disable-admission-plugins=${flags.disable.join(",")}`,
    `--admission-control-config-file=${configurationFile(directory, flags)}`,
  ];
}
