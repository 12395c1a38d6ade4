/**
 * Programs of others that tests run beside ours: where each is, looked for in one way. A variable
 * names it, else it is in the folder PILOTHOUSE_STOCK, else on the PATH; and it must run. A variable
 * set to nothing is not set.
 */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "./harness.ts";

const peers = {
  etcd: { variable: "PILOTHOUSE_ETCD", names: ["etcd-bin", "etcd"], probe: "--version" },
  etcdctl: { variable: "PILOTHOUSE_ETCDCTL", names: ["etcdctl"], probe: "version" },
  "kube-apiserver": {
    variable: "PILOTHOUSE_KUBE_APISERVER",
    names: ["kube-apiserver"],
    probe: "--version",
  },
  "kube-controller-manager": {
    variable: "PILOTHOUSE_KUBE_CONTROLLER_MANAGER",
    names: ["kube-controller-manager"],
    probe: "--version",
  },
  "kube-scheduler": {
    variable: "PILOTHOUSE_KUBE_SCHEDULER",
    names: ["kube-scheduler"],
    probe: "--version",
  },
  "nats-server": { variable: "PILOTHOUSE_NATS_SERVER", names: ["nats-server"], probe: "--version" },
  "redis-server": {
    variable: "PILOTHOUSE_REDIS_SERVER",
    names: ["redis-server"],
    probe: "--version",
  },
  helm: { variable: "PILOTHOUSE_HELM", names: ["helm"], probe: "version" },
  postgres: { variable: "PILOTHOUSE_POSTGRES", names: ["postgres"], probe: "--version" },
  strace: { variable: "PILOTHOUSE_STRACE", names: ["strace"], probe: "--version" },
} as const;

export type PeerName = keyof typeof peers;

/** Undefined: there is none, or it does not run. */
export function findPeer(name: PeerName): string | undefined {
  const { variable, names, probe } = peers[name];
  const named = process.env[variable] || undefined;
  const folder = process.env["PILOTHOUSE_STOCK"] || undefined;
  const inFolder = folder === undefined ? [] : names.map((one) => join(folder, one));
  const tried = named === undefined ? [...inFolder, name] : [named];
  return tried.find((one) => run(one, [probe], {}).code === 0);
}

/** The folder of PostgreSQL's programs: Debian keeps them off the PATH. Undefined: there is none. */
export function findPostgres(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : [];
  const named = process.env["PILOTHOUSE_POSTGRES"];
  const folders = versions.map((version) => join(debian, version, "bin"));
  const tried = named === undefined ? folders : [dirname(named)];
  return tried.find((one) => existsSync(join(one, "initdb")) && existsSync(join(one, "postgres")));
}

/** Why a test that needs it is skipped. */
export function noPeer(name: PeerName): string {
  return `no ${name}: set ${peers[name].variable}, or put it on the PATH`;
}

/** What a stock control plane is made of. */
export interface StockPrograms {
  readonly apiserver: string;
  readonly etcd: string;
}

/** Undefined unless both are there. */
export function stockPrograms(): StockPrograms | undefined {
  const apiserver = findPeer("kube-apiserver");
  const etcd = apiserver === undefined ? undefined : findPeer("etcd");
  return apiserver === undefined || etcd === undefined ? undefined : { apiserver, etcd };
}

export const noStock = `no stock API server: ${noPeer("kube-apiserver")}; ${noPeer("etcd")}`;
