/**
 * Keeps the connections to webhooks: one pool per set of trusted authorities and credentials, divided by server.
 *
 * Limits `trustsMax` pools (upstream's 200); above that the least recently used pool is closed, and its running
 *        requests finish.
 */
import type { HostsTransport } from "#platform/byte-transport.ts";

/** Credentials that this server shows, and authorities that it trusts. */
interface Trust {
  /** PEM in base64. "": the authorities that the host trusts. */
  readonly caBundle: string;
  readonly credentials: Credentials | undefined;
}

/** Credentials from the kubeconfig of an AdmissionConfiguration, the only source of credentials for webhooks. */
export interface Credentials {
  readonly certificate?: string;
  readonly key?: string;
  /** Returns the value of an Authorization header. */
  readonly authorization?: () => string;
}

export type OpenTransport = (trust: {
  /** PEM. Undefined: the authorities that the host trusts. */
  readonly ca: string | undefined;
  readonly certificate?: string;
  readonly key?: string;
}) => HostsTransport;

const trustsMax = 200;

export class Trusts {
  readonly #open: OpenTransport;
  readonly #transports = new Map<string, HostsTransport>();

  constructor(open: OpenTransport) {
    this.#open = open;
  }

  transport({ caBundle, credentials }: Trust): HostsTransport {
    const key = `${credentials?.certificate ?? ""} ${credentials?.key ?? ""} ${caBundle}`;
    const known = this.#transports.get(key);
    if (known !== undefined) {
      if (this.#transports.size > trustsMax / 2) {
        this.#transports.delete(key);
        this.#transports.set(key, known);
      }
      return known;
    }
    this.#dropOldest();
    const { certificate, key: privateKey } = credentials ?? {};
    const ca = caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString();
    const shown =
      certificate === undefined || privateKey === undefined ? {} : { certificate, key: privateKey };
    const opened = this.#open({ ca, ...shown });
    this.#transports.set(key, opened);
    return opened;
  }

  close(): void {
    for (const transport of this.#transports.values()) transport.close();
    this.#transports.clear();
  }

  #dropOldest(): void {
    if (this.#transports.size < trustsMax) return;
    const [oldest] = this.#transports;
    if (oldest === undefined) return;
    this.#transports.delete(oldest[0]);
    oldest[1].close();
  }
}
