/**
 * The way to a server that answers reviews, by an operator's kubeconfig: its current context says where and who.
 *
 * Holds  the review goes to the URL of the cluster exactly, over its authorities and with its user's credentials;
 *        redirects are not followed, and no proxy of the environment is used.
 * Bounds `answerBytesMax` an answer.
 */
import { ConfigurationError } from "#auth/configuration/shape.ts";
import type { SendReview } from "#auth/webhooks/review-client.ts";
import type { Host } from "#platform/byte-transport.ts";
import { hostAuthorities, type HostsCredentials } from "#platform/node/http/http-hosts.ts";
import { http2HostsTransport } from "#platform/node/http/http2-hosts.ts";
import { type KubeAccess, KubeconfigError, loadKubeconfig } from "#platform/node/kubeconfig.ts";

/** Maximum size of an answer. It exceeds a review of the largest accepted request. */
const answerBytesMax = 1024 * 1024;
const connections = { connectMs: 30_000, headBytesMax: 65_536, idleSocketsMax: 64 };

export interface ReviewConnection {
  readonly send: SendReview;
  /** Closes idle connections. */
  close(): void;
}

/** Connects to the webhook of a kubeconfig. Rejects with ConfigurationError for a file that cannot be used. */
export async function connectReviews(path: string, timeoutMs: number): Promise<ReviewConnection> {
  const access = await accessOf(path);
  const url = URL.parse(access.server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(`${path}: the server ${access.server} is no URL`);
  }
  const host = hostOf(url, access);
  const seconds = Math.ceil(timeoutMs / 1_000);
  const target = `${url.pathname}?timeout=${seconds}s`;
  const credentials = credentialsOf(access);
  const transport = http2HostsTransport({ credentials: () => credentials, limits: connections });
  return {
    close: () => transport.close(),
    async send(body, signal) {
      const token = access.bearerToken?.();
      const headers = {
        "content-type": "application/json",
        accept: "application/json, */*",
        "user-agent": "kube-apiserver",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const answer = await transport.send(host, { method: "POST", target, headers, body, signal });
      const bytes = await answer.read(answerBytesMax);
      if (bytes === "too-large") {
        throw new Error(`the answer has more than ${answerBytesMax} bytes`);
      }
      return { status: answer.status, value: parsed(bytes) };
    },
  };
}

async function accessOf(path: string): Promise<KubeAccess> {
  try {
    return await loadKubeconfig(path);
  } catch (error) {
    const isFile = error instanceof KubeconfigError || error instanceof Error;
    if (!isFile) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  }
}

function hostOf({ protocol, hostname, port }: URL, { serverName }: KubeAccess): Host {
  const scheme = protocol === "http:" ? "http" : "https";
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  const number = port === "" ? (scheme === "http" ? 80 : 443) : Number(port);
  if (serverName === undefined) return { scheme, name, port: number };
  return { scheme, name: serverName, address: name, port: number };
}

function credentialsOf({ ca, insecure, certificate, key }: KubeAccess): HostsCredentials {
  const shown = certificate === undefined || key === undefined ? {} : { certificate, key };
  return insecure === true ? shown : { ...shown, ca: ca ?? hostAuthorities };
}

/** Parses JSON. Undefined: the bytes are not JSON. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
