/** Settings in which a TLS listener differs from the usual one. */
import { X509Certificate } from "node:crypto";
import type { Server } from "node:tls";

export interface TlsSettings {
  /** Oldest version that is accepted; absent: TLS 1.2. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** Cipher suites by OpenSSL's names; absent: Node's choice. */
  readonly ciphers?: string;
  /** Key exchange mechanisms, as `curvesOf` gives them; absent: OpenSSL's choice. */
  readonly curves?: string;
  /** PEM pairs for clients that ask for one of `names`. Without `names`, the certificate's own names count. */
  readonly named?: readonly {
    readonly cert: string;
    readonly key: string;
    readonly names: readonly string[];
  }[];
}

/** Returns options for `createSecureServer`. */
export function secureOptions(settings: TlsSettings | undefined): object {
  const { minVersion, ciphers, curves } = settings ?? {};
  return {
    minVersion: minVersion ?? "TLSv1.2",
    ...(ciphers !== undefined && { ciphers }),
    ...(curves !== undefined && { ecdhCurve: curves }),
  };
}

/** Shows the first pair that has the requested name, as upstream. Node prefers later contexts to earlier ones. */
export function addNamedPairs(
  server: Pick<Server, "addContext">,
  named: NonNullable<TlsSettings["named"]>,
  context: object,
): void {
  for (const { cert, key, names } of named.toReversed()) {
    const shown = names.length > 0 ? names : namesIn(cert);
    for (const name of shown) server.addContext(name, { ...context, cert, key });
  }
}

/** Returns the DNS names of the certificate, or its common name. */
function namesIn(pem: string): readonly string[] {
  const { subjectAltName, subject } = new X509Certificate(pem);
  // Undefined where the certificate has no such names, although the type excludes it.
  const names = [...String(subjectAltName).matchAll(/DNS:([^,\s]+)/g)].map(([, name = ""]) => name);
  if (names.length > 0) return names;
  return [...subject.matchAll(/^CN=(.+)$/gm)].map(([, name = ""]) => name);
}
