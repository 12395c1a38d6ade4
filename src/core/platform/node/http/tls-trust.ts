/**
 * Whose client certificates count at a listener, now: authorities may change while connections are open.
 *
 * Holds  after a change each connection is judged anew, by its certificate and the authorities of that moment, before its next
 *        request; one that nobody vouches for any more is cut, a quiet one, too.
 * Cost   nothing while nothing changes; then a signature check per connection with a certificate, `sliceMax` a turn.
 */
import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Peer } from "../../http.ts";
import {
  authoritiesOf,
  certificateProblem,
  comesFrom,
  readableAuthorities,
} from "./peer-authority.ts";

export interface TrustedAuthorities {
  /** PEM of the authorities whose client certificates are accepted. */
  readonly clientCa?: string | readonly string[];
  /** PEM of the authorities of front proxies; absent: none. */
  readonly proxyCa?: string;
}

type SocketPeer = Extract<Peer, { kind: "socket" }>;
type CertifiedBy = Pick<SocketPeer, "certificate" | "proxyCertificate" | "certificateProblem">;

/** A connection that can be cut: a socket, or the session around it. */
interface Connection {
  destroy(): void;
}

const sliceMax = 32;
const unknown = { certificateProblem: "x509: certificate signed by unknown authority" };

export class TlsTrust {
  #authorities: readonly X509Certificate[] = [];
  #clients: readonly X509Certificate[] = [];
  /** Authorities of front proxies. Undefined: no front proxy is trusted. */
  #proxies: readonly X509Certificate[] | undefined;
  #generation = 0;
  /** Connections whose certificate was good; at most as many as the listener takes. */
  readonly #certified = new Map<TLSSocket, Connection>();

  constructor(trusted: TrustedAuthorities) {
    this.#take(trusted);
  }

  /** PEM of all authorities. Empty: clients are not asked for a certificate. */
  static listOf({ clientCa, proxyCa }: TrustedAuthorities): readonly string[] {
    return [clientCa ?? [], proxyCa ?? []].flat();
  }

  /** Number that changes with the authorities. */
  get generation(): number {
    return this.#generation;
  }

  #take(trusted: TrustedAuthorities): void {
    const { clientCa, proxyCa } = trusted;
    const proxies = proxyCa === undefined ? undefined : authoritiesOf(proxyCa);
    const clients = proxyCa === undefined ? [] : authoritiesOf(clientCa ?? []);
    this.#authorities = readableAuthorities(TlsTrust.listOf(trusted));
    this.#clients = clients;
    this.#proxies = proxies;
  }

  /** Changes the authorities. Throws for a text that is no PEM certificate; nothing has changed then. */
  renew(trusted: TrustedAuthorities): void {
    this.#take(trusted);
    this.#generation++;
    this.#cutUnknown([...this.#certified]);
  }

  /** Verifies the certificate of a connection after its handshake. All members absent: the client sent no certificate. */
  judge(socket: TLSSocket, connection: Connection): CertifiedBy {
    const { raw } = socket.getPeerCertificate();
    if (raw === undefined) return {};
    const problem = certificateProblem(socket, this.#authorities) || this.#changed(socket);
    if (problem !== "") return { certificateProblem: problem };
    if (!this.#certified.has(socket)) {
      this.#certified.set(socket, connection);
      socket.once("close", () => this.#certified.delete(socket));
    }
    if (this.#proxies === undefined) return { certificate: raw };
    const certificate = socket.getPeerCertificate(true);
    return {
      ...(comesFrom(certificate, this.#clients) ? { certificate: raw } : unknown),
      ...(comesFrom(certificate, this.#proxies) ? { proxyCertificate: raw } : {}),
    };
  }

  /** OpenSSL's verdict rests on the authorities at the first handshake, also when a ticket resumes a session. */
  #changed(socket: TLSSocket): string {
    if (this.#generation === 0) return "";
    const isKnown = comesFrom(socket.getPeerCertificate(true), this.#authorities);
    return isKnown ? "" : unknown.certificateProblem;
  }

  /** Spread over turns of the loop, because there may be thousands of connections. */
  #cutUnknown(left: readonly (readonly [TLSSocket, Connection])[]): void {
    const generation = this.#generation;
    for (const [socket, connection] of left.slice(0, sliceMax)) {
      if (socket.destroyed || this.#changed(socket) === "") continue;
      connection.destroy();
    }
    if (left.length <= sliceMax) return;
    setImmediate(() => {
      if (generation === this.#generation) this.#cutUnknown(left.slice(sliceMax));
    });
  }
}
