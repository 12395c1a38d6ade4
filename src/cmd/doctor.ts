/** `pilothouse doctor`: one look at the API server of a kubeconfig, and what is wrong with it. */
import { connect } from "node:tls";
import { socketClient } from "#client/rest-client.ts";
import { look } from "#doctor/collect.ts";
import { judge, jsonOf, textOf } from "#doctor/report.ts";
import { rules } from "#doctor/rules.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import {
  defaultKubeconfigPath,
  type KubeAccess,
  KubeconfigError,
  loadKubeconfig,
} from "#platform/node/kubeconfig.ts";
import { productVersion } from "./product.ts";

export interface DoctorFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly seconds: number;
  readonly format: "text" | "json";
}

/** Each request, with its body; so a server that never answers ends the look after two of them. */
const requestMs = 5_000;
/** A stock API server of 5,000 nodes answers some 10 MiB of metrics. */
const bodyBytesMax = 64 * 1024 * 1024;
const foundCode = 1;
const unseenCode = 2;

export async function doctor(flags: DoctorFlags): Promise<void> {
  const access = await accessOf(flags);
  if (access === undefined) return;
  const http = withDeadline(httpClient({ ...access, limits: httpClientLimits }));
  const { bearerToken } = access;
  const client = socketClient(
    { http },
    {
      userAgent: `pilothouse-doctor/${productVersion}`,
      ...(bearerToken === undefined ? {} : { bearerToken }),
      bodyBytesMax,
      frameBytesMax: bodyBytesMax,
    },
  );
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, flags.seconds * 1_000);
    });
  const evidence = await look({
    client,
    nowMs: () => Date.now(),
    pause,
    servingCertificateEndMs: () => servingCertificateEndMs(access),
  });
  http.close();
  const report = judge(evidence, rules);
  process.stdout.write(flags.format === "json" ? jsonOf(report) : textOf(report));
  if (report.findings.length > 0) process.exitCode = foundCode;
  else if (!evidence.hasAnswer) process.exitCode = unseenCode;
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

/** The end of what the server shows, trusted or not: a certificate that ended is what is looked for. */
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
