/**
 * The two servers compared: ours in this process without its loops, and a stock kube-apiserver with an
 * etcd, both started anew with empty stores. Stock has no controllers either: what is compared is the API.
 */
import { mkdtempSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePki } from "#auth/pki-files.ts";
import * as limits from "#cmd/limits.ts";
import { startPlane } from "#cmd/plane.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { startApiServer } from "../process/stock-apiserver.ts";
import type { Target } from "./run.ts";
import type { StockPrograms } from "../process/peers.ts";

export interface Server extends Target {
  stop(): Promise<void>;
}

export async function startOurs(port = 0): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-differential-"));
  const level = (process.env["PILOTHOUSE_LOG"] ?? "error") as "error";
  const log = nodeLog({ level, destination: 2 });
  const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk(), log };
  const { serviceAddress } = limits;
  const pki = ensurePki(directory, { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
  const plane = await startPlane(host, { pki, host: "127.0.0.1", port, nodes: 0, loops: "none" });
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

export interface StockServer extends Server {
  /** The administrator's. */
  readonly kubeconfig: string;
  /** Its own, self-signed: `apiserver.crt` and `apiserver.key`. */
  readonly pki: string;
}

export async function startStock(programs: StockPrograms): Promise<StockServer> {
  const directory = mkdtempSync(join(tmpdir(), "differential-stock-"));
  const etcd = await startEtcd(programs.etcd);
  const args = [`--etcd-servers=${etcd.url}`];
  const server = await startApiServer(programs.apiserver, directory, args);
  return {
    ...server,
    pki: join(directory, "certs"),
    async stop() {
      await server.stop();
      await etcd.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
