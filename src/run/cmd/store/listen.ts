/** The listeners of `pilothouse store`, and the clients that they accept. */
import { given } from "#base/given.ts";
import { EtcdCounters } from "#etcd/counters.ts";
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { certificateIdentity } from "#auth/certificate.ts";
import type { Method } from "#etcd/call.ts";
import type { Alarms } from "#etcd/alarms.ts";
import { etcdHttpFrontend } from "#etcd/http-frontend.ts";
import {
  listenEtcd,
  recommendedServerLimits,
  type EtcdListening,
  type ListenTls,
} from "#etcd/server.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import type { FullStore } from "#store/full-store.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface ListenFlags {
  readonly listen: string;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
  readonly allowCn?: readonly string[];
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  /** Ciphers, with OpenSSL's names. Absent: Node's choice. */
  readonly ciphers?: string;
  readonly insecureTransport?: boolean;
  readonly quota: number;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: ListenTls | undefined;
}

export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(`--listen takes host:port, such as 127.0.0.1:2379, not "${text}"`);
  }
  return { host: (match[1] ?? match[2]) as string, port };
}

/** Checks the transport. Without TLS, any client that reaches the store can read and write every key, even Secrets. */
export function checkTransport(
  { listen, cert, insecureTransport }: ListenFlags,
  near: boolean,
): void {
  if (cert !== undefined && insecureTransport === true) {
    throw new UsageError("--insecure-transport is for a listener without --cert and --key");
  }
  if (near || cert !== undefined || insecureTransport === true) return;
  throw new UsageError(
    `--listen ${listen} would serve every key in the clear to whoever reaches it: give --cert, --key and --client-ca, listen on 127.0.0.1, or accept it with --insecure-transport`,
  );
}

export function warnOpen({ log }: { readonly log: Log }, { listen }: ListenFlags): void {
  log.warn("every client is served, none has to say who it is", {
    listen,
    hint: "limit it with --client-ca, and --allow-cn",
  });
}

export function readTls(flags: ListenFlags): ListenTls | undefined {
  const { cert, key, clientCa, allowCn, tlsMinVersion, ciphers } = flags;
  if (allowCn !== undefined && clientCa === undefined) {
    throw new UsageError("--allow-cn limits the certificates of --client-ca: give it too");
  }
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError("TLS needs both --cert and --key");
  }
  const tls = {
    cert: readOperatorFile(cert),
    key: readOperatorFile(key),
    ...(tlsMinVersion !== undefined && { minVersion: tlsMinVersion }),
    ...(ciphers !== undefined && { ciphers }),
    ...(clientCa === undefined ? {} : { clientCa: readOperatorFile(clientCa) }),
    ...(allowCn === undefined ? {} : { refuse: refuseOthers(allowCn) }),
  };
  usable("--cert and --key", () => createSecureContext({ cert: tls.cert, key: tls.key }));
  // createSecureContext ignores an invalid CA, so the server would refuse every client later.
  if (clientCa !== undefined) usable("--client-ca", () => new X509Certificate(tls.clientCa ?? ""));
  return tls;
}

/** Like etcd's --client-cert-allowed-cn: the common name must equal one of the names exactly. */
function refuseOthers(names: readonly string[]): (certificate: Uint8Array) => string | undefined {
  return (certificate) => {
    const { commonName = "" } = certificateIdentity(certificate) ?? {};
    if (commonName !== "" && names.includes(commonName)) return undefined;
    return `client certificate authentication failed: CN ${JSON.stringify(commonName)} is not in --allow-cn`;
  };
}

function usable(what: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw new UsageError(`${what} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

interface ListenDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: FullStore;
  readonly alarms: Alarms;
  readonly methods: ReadonlyMap<string, Method>;
  /** With several replicas: whether this one holds the log. */
  readonly holds?: () => boolean;
  readonly leaderChanges?: () => number;
  /** Counters of requests. Absent: the listener has its own. */
  readonly counters?: EtcdCounters;
}

/** Throws UsageError. */
export async function listenAt(
  deps: ListenDeps,
  flags: ListenFlags,
  { host, port, tls }: ListenAddress,
): Promise<EtcdListening> {
  try {
    const { counters = new EtcdCounters(deps.clock) } = deps;
    const http = etcdHttpFrontend({ ...deps, counters, figures: readProcessFigures }, flags.quota);
    const secure = given({ tls });
    return await listenEtcd(
      { ...deps, http, counters },
      { host, port, ...secure, limits: recommendedServerLimits },
    );
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "the address is in use" : message;
    throw new UsageError(`cannot listen on ${flags.listen}: ${why}; give another with --listen`, {
      cause: error,
    });
  }
}

/** Returns the URL for clients on this machine. */
export function urlOf({ host, port, tls }: ListenAddress): string {
  const scheme = tls === undefined ? "http" : "https";
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `${scheme}://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
}
