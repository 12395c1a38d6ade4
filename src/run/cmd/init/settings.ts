/**
 * What `pilothouse init` was asked for, checked, and as it is kept in DIR/init.json for later runs.
 *
 * Holds  each text here can stand unquoted in a unit, a Compose file and a manifest: what cannot is refused.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isIP, isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { must } from "#base/assert.ts";
import { checkEtcdUrl } from "../shared/etcd-cluster.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface InitFlags {
  readonly out: string;
  readonly replicas?: number;
  readonly address?: readonly string[];
  readonly endpoint?: string;
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly healthPort?: number;
}

export interface Address {
  /** An IP address, or a host name in lower case. */
  readonly host: string;
  readonly port: number;
}

export interface Settings {
  readonly replicas: readonly Address[];
  /** Address at which clients reach any replica. Absent: clients name a replica. */
  readonly endpoint?: Address;
  readonly etcdServers: readonly string[];
  /** Whether the Compose file includes an etcd, because the flags name none. */
  readonly bringsEtcd: boolean;
  /** Health port of a host's first controller manager. The scheduler's port is two higher. */
  readonly healthPort: number;
}

/** The flags in DIR/init.json. They are checked again at every read. */
type SavedFlags = Pick<InitFlags, "address" | "endpoint" | "etcdServers" | "healthPort">;

const layout = 1;
const replicasDefault = 3;
const firstPort = 6443;
const ownEtcd = "http://127.0.0.1:2379";
/** kube-controller-manager's default port. */
const firstHealthPort = 10_257;

/** Combines these flags with those of an earlier run. Throws UsageError. */
export async function settingsOf(flags: InitFlags): Promise<Settings> {
  if ((flags.etcdCertfile === undefined) !== (flags.etcdKeyfile === undefined))
    throw new UsageError("--etcd-certfile and --etcd-keyfile go together");
  const before = readFlags(flags.out);
  const { etcdServers, healthPort, endpoint } = { ...before, ...flags };
  for (const url of etcdServers ?? []) await checkEtcdServer(url);
  if (etcdServers?.length === 0) throw new UsageError("--etcd-servers names none");
  const replicas = replicasOf(flags, before?.address);
  const machines = new Set(replicas.map(({ host }) => machineOf(host)));
  if (etcdServers === undefined && machines.size > 1)
    throw new UsageError(
      "--etcd-servers: replicas on several hosts need one etcd cluster that all of them reach",
    );
  return {
    replicas,
    ...(endpoint === undefined ? {} : { endpoint: address(endpoint, "--endpoint", firstPort) }),
    etcdServers: etcdServers ?? [ownEtcd],
    bringsEtcd: etcdServers === undefined,
    healthPort: healthPort ?? firstHealthPort,
  };
}

/** Returns the content of DIR/init.json. */
export function settingsText(settings: Settings): string {
  const { replicas, endpoint, bringsEtcd, etcdServers, healthPort } = settings;
  const saved: SavedFlags = {
    address: replicas.map(hostAndPort),
    ...(endpoint === undefined ? {} : { endpoint: hostAndPort(endpoint) }),
    ...(bringsEtcd ? {} : { etcdServers }),
    healthPort,
  };
  return `${JSON.stringify({ layout, ...saved }, undefined, 2)}\n`;
}

export function settingsPath(out: string): string {
  return join(out, "init.json");
}

/** Checks that a path is absolute and needs no quotes in any of the files. Throws UsageError. */
export function plainPath(path: string, what: string): string {
  const absolute = resolve(path);
  if (/^[\p{L}\p{N}._/@+-]+$/u.test(absolute)) return absolute;
  throw new UsageError(
    `${what} ${JSON.stringify(absolute)}: it stands in units, a Compose file and manifests: use a path of letters, digits and . _ / @ + -`,
  );
}

/** Reads the flags of an earlier run. Undefined: DIR is new. Throws UsageError when DIR has files of another origin. */
function readFlags(out: string): SavedFlags | undefined {
  const path = settingsPath(out);
  try {
    if (existsSync(path)) return parseFlags(path);
    if (!existsSync(out)) return undefined;
    const [foreign] = readdirSync(out);
    if (foreign === undefined) return undefined;
    throw new UsageError(
      `${out} holds something else (${foreign}) and was not made by pilothouse init; give a new or empty directory with --out`,
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot use --out ${out}: ${(error as Error).message}`, { cause: error });
  }
}

function parseFlags(path: string): SavedFlags {
  const saved = JSON.parse(readFileSync(path, "utf8")) as SavedFlags & { readonly layout: unknown };
  const { address: addresses, endpoint = "", etcdServers = [], healthPort } = saved;
  const lists = [addresses, etcdServers];
  const isWhole =
    lists.every((list) => Array.isArray(list) && list.every((one) => typeof one === "string")) &&
    typeof endpoint === "string" &&
    addresses?.length !== 0 &&
    Number.isInteger(healthPort);
  if (saved.layout === layout && isWhole) return saved;
  throw new UsageError(`${path} is not as this release writes it: use the release that did`);
}

/** Returns the named addresses, then further ones at the last one's host with ascending ports. */
function replicasOf(flags: InitFlags, before: readonly string[] | undefined): readonly Address[] {
  const texts = flags.address ?? before ?? ["127.0.0.1"];
  const named = texts.reduce(addAddress, []);
  const isFirst = flags.address === undefined && before === undefined;
  const count = flags.replicas ?? (isFirst ? replicasDefault : named.length);
  const least = Math.max(flags.address === undefined ? 0 : named.length, before?.length ?? 0);
  if (count < least)
    throw new UsageError(
      `--replicas ${count}: there are ${least} already; stop the last ones and leave their files, or give a new directory with --out`,
    );
  const { host, port } = must(named.at(-1), "a list of addresses holds one");
  const all = [...named];
  while (all.length < count) all.push({ host, port: freePort(all, host, port) });
  checkAddresses(all);
  return all;
}

/** Adds an address. Without a port, it gets the first free one of its host. */
function addAddress(before: readonly Address[], text: string): Address[] {
  const { host, port } = address(text, "--address", 0);
  return [...before, { host, port: port === 0 ? freePort(before, host, firstPort) : port }];
}

function freePort(all: readonly Address[], host: string, least: number): number {
  const taken = new Set(all.filter((one) => one.host === host).map(({ port }) => port));
  let port = least;
  while (taken.has(port)) port++;
  return port;
}

function checkAddresses(all: readonly Address[]): void {
  const seen = new Set<string>();
  for (const { host, port } of all) {
    const text = hostAndPort({ host, port });
    if (port > 65_535) throw new UsageError(`--address ${text}: there is no such port`);
    if (seen.has(text)) throw new UsageError(`--address ${text}: two replicas cannot share it`);
    seen.add(text);
  }
}

function address(text: string, flag: string, defaultPort: number): Address {
  const [, v6, plain = v6 ?? "", portText] =
    /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(isIPv6(text) ? `[${text}]` : text) ?? [];
  const host = plain.toLowerCase() === "localhost" ? "127.0.0.1" : plain.toLowerCase();
  const port = portText === undefined ? defaultPort : Number(portText);
  const isHost =
    v6 === undefined ? isIP(host) === 4 || isName(host) : isIPv6(host) && !host.includes("%");
  const isGood =
    isHost && !/^(0\.0\.0\.0|[0:]+)$/.test(host) && (portText === undefined || port > 0);
  if (isGood && port <= 65_535) return { host, port };
  throw new UsageError(
    `${flag} ${JSON.stringify(text)}: give HOST or HOST:PORT, an address or name that clients reach, as 10.0.0.1:6443 or [fd00::1]:6443`,
  );
}

/** Whether the text is a DNS name. Its last label is no number, which would read as an address. */
function isName(text: string): boolean {
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  return (
    text.length <= 253 &&
    new RegExp(`^${label}(\\.${label})*$`).test(text) &&
    !/(^|\.)\d+$/.test(text)
  );
}

/** Checks that the URL has a scheme, a host and a port only. */
async function checkEtcdServer(text: string): Promise<void> {
  const url = URL.parse(text);
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, "");
  if (!isPlain || !/^[\w.:/[\]-]+$/.test(text))
    throw new UsageError(
      `--etcd-servers ${JSON.stringify(text)}: give URLs of scheme, host and port, as https://10.0.0.1:2379`,
    );
  await checkEtcdUrl(text);
}

export function hostAndPort({ host, port }: Address): string {
  return `${hostText(host)}:${port}`;
}

/** Whether the host is in 127.0.0.0/8 or is ::1. A name is not. */
export function isLoopbackAddress(host: string): boolean {
  return (isIP(host) === 4 && host.startsWith("127.")) || host === "::1";
}

/** Returns the machine of a host. Replicas on the same machine share its ports. */
export function machineOf(host: string): string {
  return isLoopbackAddress(host) ? "127.0.0.1" : host;
}

function hostText(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
