/** `pilothouse doctor`: examines the API server of a kubeconfig, once or repeatedly, and reports its problems. */
import { connect } from "node:tls";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import { socketClient } from "#client/rest-client.ts";
import { look } from "#doctor/collect.ts";
import type { Program } from "#doctor/evidence.ts";
import { FindingsMetrics } from "#doctor/findings-metrics.ts";
import { htmlOf } from "#doctor/html.ts";
import {
  changesJson,
  changesOf,
  changesText,
  hasFault,
  judge,
  jsonOf,
  type Report,
  textOf,
} from "#doctor/report.ts";
import { rules } from "#doctor/rules.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import {
  defaultKubeconfigPath,
  type KubeAccess,
  KubeconfigError,
  loadKubeconfig,
} from "#platform/node/kubeconfig.ts";
import { readAuditFile } from "./audit-reader.ts";
import { listenForScrapes } from "./metrics-listen.ts";
import { UsageError } from "../shared/usage-error.ts";
import { productVersion } from "../shared/product.ts";

export interface DoctorFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly seconds: number;
  readonly format: "text" | "json" | "html";
  /** Seconds between two examinations. Absent: one examination. */
  readonly watch?: number;
  readonly scheduler?: string;
  readonly controllerManager?: string;
  readonly etcd?: string;
  /** Path of a kubeconfig for the relay. */
  readonly relay?: string;
  /** ADDRESS:PORT of the doctor's own metrics. Absent: they are not served. */
  readonly metricsListen?: string;
  readonly audit?: string;
  readonly prometheus?: string;
  /** Length of the examined time in Prometheus, in milliseconds. */
  readonly since: number;
}

/** Timeout of a request with its body. A server that never answers ends the examination after two of them. */
const requestMs = 5_000;
/** A stock API server with 5,000 nodes returns some 10 MiB of metrics. */
const bodyBytesMax = 64 * 1024 * 1024;
const clientLimits = {
  userAgent: `pilothouse-doctor/${productVersion}`,
  bodyBytesMax,
  frameBytesMax: bodyBytesMax,
};
const foundCode = 1;
const unseenCode = 2;

export async function doctor(flags: DoctorFlags): Promise<void> {
  const access = await accessOf(flags);
  if (access === undefined) return;
  const http = withDeadline(httpClient({ ...access, limits: httpClientLimits }));
  const { bearerToken } = access;
  const client = socketClient({ http }, { ...clientLimits, ...given({ bearerToken }) });
  const pause = (seconds: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, seconds * 1_000);
    });
  const { audit = "" } = flags;
  const deps = {
    client,
    nowMs: () => Date.now(),
    pause: () => pause(flags.seconds),
    servingCertificateEndMs: () => servingCertificateEndMs(access),
    programs: programsOf(flags, client),
    ...pastOf(flags),
    ...(flags.audit === undefined ? {} : { audit: () => readAuditFile(audit) }),
  };
  const { watch, metricsListen } = flags;
  if (metricsListen !== undefined && watch === undefined) {
    throw new UsageError("--metrics-listen goes with --watch");
  }
  if (watch !== undefined) {
    const set = new MetricSet();
    const metrics = new FindingsMetrics(set);
    if (metricsListen !== undefined) {
      const { address } = await listenForScrapes(metricsListen, set);
      const { host, port } = address;
      const at = `http://${host.includes(":") ? `[${host}]` : host}:${port}/metrics`;
      process.stderr.write(`pilothouse: metrics at ${at}\n`);
    }
    return lookAgainAndAgain({ ...deps, metrics }, flags.format, () => pause(watch));
  }
  const evidence = await look(deps);
  http.close();
  const report = judge(evidence, rules);
  process.stdout.write(written(report, flags.format));
  if (hasFault(report)) process.exitCode = foundCode;
  else if (!evidence.hasAnswer) process.exitCode = unseenCode;
}

function written(report: Report, format: DoctorFlags["format"]): string {
  if (format === "html") return htmlOf(report, new Date().toISOString());
  return format === "json" ? jsonOf(report) : textOf(report);
}

/** Prints the first report and then the changes, until a signal ends the process. */
async function lookAgainAndAgain(
  deps: Parameters<typeof look>[0] & { readonly metrics: FindingsMetrics },
  format: DoctorFlags["format"],
  pause: () => Promise<void>,
): Promise<never> {
  const changesIn = format === "json" ? changesJson : changesText;
  let last: Report | undefined;
  for (;;) {
    const evidence = await look(deps);
    const next = judge(evidence, rules);
    const at = new Date().toISOString();
    if (!evidence.hasAnswer) {
      // Earlier findings may still hold, so they stay until a later examination succeeds.
      deps.metrics.failed();
      process.stderr.write(`pilothouse: ${at} the API server could not be looked at\n`);
    } else {
      process.stdout.write(changesIn(changesOf(last, next), at));
      last = next;
      deps.metrics.took(next, Date.now());
    }
    await pause();
  }
}

function programsOf(
  { scheduler, controllerManager, etcd, relay }: DoctorFlags,
  client: Client,
): Partial<Record<Program, () => Promise<unknown>>> {
  return {
    ...(scheduler === undefined ? {} : { scheduler: reader(scheduler, client) }),
    ...(controllerManager === undefined
      ? {}
      : { "controller-manager": reader(controllerManager, client) }),
    ...(etcd === undefined ? {} : { etcd: reader(etcd, client) }),
    ...(relay === undefined ? {} : { relay: () => readRelay(relay) }),
  };
}

/** Reads a path from the API server, for example through its proxy. Reads a URL without the kubeconfig's credentials. */
function reader(where: string, client: Client): () => Promise<unknown> {
  if (where.startsWith("/")) return () => client.raw(where);
  return async () => {
    const url = new URL(where);
    return getFrom(url, url.pathname === "/" ? "/metrics" : url.pathname + url.search);
  };
}

/** Sends no credentials of the kubeconfig, because the URL may be of another server. */
async function getFrom(url: URL, path: string): Promise<unknown> {
  const http = withDeadline(httpClient({ server: url.origin, limits: httpClientLimits }));
  try {
    return await socketClient({ http }, clientLimits).raw(path);
  } finally {
    http.close();
  }
}

/** Sends the file's credentials, which a relay lets the API server review. */
async function readRelay(kubeconfig: string): Promise<unknown> {
  const access = await loadKubeconfig(kubeconfig);
  const http = withDeadline(httpClient({ ...access, limits: httpClientLimits }));
  const { bearerToken } = access;
  try {
    const client = socketClient({ http }, { ...clientLimits, ...given({ bearerToken }) });
    return await client.raw("/relay/metrics");
  } finally {
    http.close();
  }
}

function pastOf({ prometheus, since }: DoctorFlags): Pick<Parameters<typeof look>[0], "past"> {
  if (prometheus === undefined) return {};
  const get = async (path: string): Promise<unknown> => {
    const url = new URL(prometheus);
    return getFrom(url, url.pathname.replace(/\/$/, "") + path);
  };
  return { past: { seconds: since / 1_000, get } };
}

async function accessOf(flags: DoctorFlags): Promise<KubeAccess | undefined> {
  const path = flags.kubeconfig ?? defaultKubeconfigPath(process.env);
  try {
    return await loadKubeconfig(path, flags.context);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    process.stderr.write(`pilothouse: ${error.message}\n`);
    process.exitCode = unseenCode;
    return undefined;
  }
}

function withDeadline(http: ByteTransport): ByteTransport {
  return {
    send: (request) =>
      http.send({
        ...request,
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(requestMs)]),
      }),
    close: () => http.close(),
  };
}

/** Returns the expiry of the server's certificate, whether trusted or not, because an expired one is to be found. */
function servingCertificateEndMs(access: KubeAccess): Promise<number | undefined> {
  const url = new URL(access.server);
  if (url.protocol !== "https:") return Promise.resolve(undefined);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 443 : Number(url.port);
  const servername = access.serverName ?? (/^[\d.]+$|:/.test(host) ? "" : host);
  return new Promise((resolve) => {
    const socket = connect({ host, port, servername, rejectUnauthorized: false }, () => {
      const endMs = Date.parse(socket.getPeerCertificate().valid_to ?? "");
      socket.destroy();
      resolve(Number.isNaN(endMs) ? undefined : endMs);
    });
    const giveUp = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.setTimeout(requestMs, giveUp);
    socket.on("error", giveUp);
  });
}
