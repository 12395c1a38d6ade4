/**
 * Whom TLS believes. Every connection that this product opens or takes goes by this file (a test looks).
 *
 * Holds  any certificate of a bundle is an anchor, as in Go: an authority that another one signed, or the server's
 *        certificate itself. OpenSSL by itself wants a chain that ends in a certificate that signed itself; all else
 *        that it checks stays: signatures, dates, names, purposes, constraints.
 */
import type { Server as TlsServer } from "node:tls";
import { given } from "#base/given.ts";

export interface Trust {
  readonly ca?: string;
  readonly allowPartialTrustChain: true;
}

/** Returns TLS options of a connection to a server. `ca`: PEM; absent: the authorities of the host. */
export function trusting(ca?: string): Trust {
  return { ...given({ ca }), allowPartialTrustChain: true };
}

/** Result of `createSecureContext`. A server has one, but passes no options on that it does not know. */
interface SharedCredentials {
  readonly context: { setAllowPartialTrustChain(): void };
}

/** Makes a server accept any of its authorities as the anchor of a client. Throws on a Node that keeps them elsewhere. */
export function takeAnyAnchor(server: Pick<TlsServer, "listen">): void {
  const { _sharedCreds: credentials } = server as unknown as {
    readonly _sharedCreds: SharedCredentials;
  };
  credentials.context.setAllowPartialTrustChain();
}
