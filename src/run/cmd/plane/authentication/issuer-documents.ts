/**
 * Documents of issuers over TLS: discovery and key sets.
 *
 * Holds  the certificate is checked by the authority of the configuration, or the host's; redirects are not
 *        followed, no credential is sent, and no proxy of the environment is used.
 * Bounds `documentBytesMax` a document.
 */
import type { FetchDocument } from "#auth/issuers/issuer-keys.ts";
import type { HostsTransport } from "#platform/byte-transport.ts";
import { hostAuthorities } from "#platform/node/http/http-hosts.ts";
import { http2HostsTransport } from "#platform/node/http/http2-hosts.ts";

/** Maximum size of a document. Key sets of a hundred keys with their chains take some 200 KB. */
const documentBytesMax = 1024 * 1024;
const connections = { connectMs: 10_000, headBytesMax: 65_536, idleSocketsMax: 1 };
/** Maximum number of transports, one per CA. A configuration file cannot name as many CAs. */
const transportsMax = 256;

export class IssuerDocuments {
  readonly #transports = new Map<string, HostsTransport>();

  /** @param authority CA in PEM, or "" for the host's CAs. */
  readonly open = (authority: string): FetchDocument => {
    const transport = this.#transport(authority);
    return (url, signal) => fetchDocument(transport, url, signal);
  };

  close(): void {
    for (const transport of this.#transports.values()) transport.close();
  }

  #transport(authority: string): HostsTransport {
    const known = this.#transports.get(authority);
    if (known !== undefined) return known;
    const [oldest] = this.#transports;
    if (oldest !== undefined && this.#transports.size >= transportsMax) {
      this.#transports.delete(oldest[0]);
      oldest[1].close();
    }
    const ca = authority === "" ? hostAuthorities : authority;
    const made = http2HostsTransport({ credentials: () => ({ ca }), limits: connections });
    this.#transports.set(authority, made);
    return made;
  }
}

async function fetchDocument(
  transport: HostsTransport,
  url: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { hostname, port, pathname, search } = new URL(url);
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  const host = { scheme: "https", name, port: port === "" ? 443 : Number(port) } as const;
  const answer = await transport.send(host, {
    method: "GET",
    target: pathname + search,
    headers: { accept: "application/json" },
    signal,
  });
  const bytes = await answer.read(documentBytesMax);
  if (answer.status !== 200) throw new Error(`GET ${url}: ${answer.status}`);
  if (bytes === "too-large") throw new Error(`GET ${url}: more than ${documentBytesMax} bytes`);
  return JSON.parse(new TextDecoder().decode(bytes));
}
