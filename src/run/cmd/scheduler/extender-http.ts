/**
 * Extenders over HTTP: connections, certificates, the time of a call and the bytes of an answer.
 *
 * Bounds `httpTimeout` for a whole call; an answer is at most twice what was asked and 1 MiB, since an extender can
 *        only repeat what it was sent; redirects are not followed.
 */
import { given } from "#base/given.ts";
import type { ByteRequest, ByteTransport } from "#platform/byte-transport.ts";
import { httpClient } from "#platform/node/http/http-client.ts";
import { Extender, type ExtenderPost } from "#scheduler/extender.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { ExtenderConfig, ExtenderTls } from "./extender-config.ts";

interface OpenExtender {
  readonly extender: Extender;
  close(): void;
}

const answerBytesMin = 1024 * 1024;
/** Maximum number of sockets. There is one decision at a time, and binds run beside it. */
const socketsMax = 64;

/** Throws UsageError for a file that cannot be read. */
export function openExtender(config: ExtenderConfig): OpenExtender {
  const { timeoutMs, urlPrefix } = config;
  const http = httpClient({
    server: urlPrefix.replace(/\/+$/, ""),
    ...tlsOf(config.tls),
    limits: { socketsMax, headMs: timeoutMs, idleMs: timeoutMs },
  });
  const post = poster(http, config);
  return { extender: new Extender(config, post), close: () => http.close() };
}

function tlsOf(tls: ExtenderTls) {
  const read = (pem: string | undefined, file: string | undefined): string | undefined =>
    pem ?? (file === undefined ? undefined : readOperatorFile(file));
  const ca = read(tls.caPem, tls.caFile);
  const certificate = read(tls.certPem, tls.certFile);
  const key = read(tls.keyPem, tls.keyFile);
  // As upstream, enableHTTPS without a CA accepts any certificate.
  const insecure = tls.isInsecure || (tls.isHttps && ca === undefined);
  return given({ ca, certificate, key, serverName: tls.serverName, insecure });
}

function poster(http: ByteTransport, { timeoutMs, urlPrefix }: ExtenderConfig): ExtenderPost {
  return async (verb, asked, signal) => {
    const body = new TextEncoder().encode(JSON.stringify(asked));
    const request: ByteRequest = {
      method: "POST",
      target: `/${verb}`,
      headers: {
        "content-type": "application/json",
        "content-length": String(body.length),
        host: new URL(urlPrefix).host,
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    };
    const where = `${urlPrefix.replace(/\/+$/, "")}/${verb}`;
    const response = await http.send(request).catch((error: unknown) => {
      throw new Error(`Post "${where}": ${(error as Error).message}`, { cause: error });
    });
    const limit = answerBytesMin + 2 * body.length;
    const answer = await response.read(limit);
    if (answer === "too-large") throw new Error(`Post "${where}": more than ${limit} bytes`);
    if (response.status !== 200) {
      throw new Error(`failed ${verb} with extender at URL ${where}, code ${response.status}`);
    }
    return JSON.parse(new TextDecoder().decode(answer)) as unknown;
  };
}
