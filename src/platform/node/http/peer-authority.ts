/**
 * Which authorities a verified client certificate comes from, where two sets of them are trusted for
 * different things: clients, and front proxies.
 *
 * In     a certificate that TLS verified against both sets together, with the issuers it was sent with.
 * Cost   once per connection, a signature check per step; nothing on a server without front proxies.
 * Why not ask OpenSSL: it says that a chain verifies, not where it ends.
 */
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate } from "node:tls";

/** OpenSSL's own limit is 100; nobody has more than a few. */
const stepsMax = 8;

/** Throws for a text that is no PEM certificate. */
export function authoritiesOf(pem: string | readonly string[]): readonly X509Certificate[] {
  const text = typeof pem === "string" ? pem : pem.join("\n");
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

export function comesFrom(
  certificate: DetailedPeerCertificate,
  authorities: readonly X509Certificate[],
): boolean {
  let at = certificate;
  for (let steps = 0; steps < stepsMax; steps++) {
    const read = new X509Certificate(at.raw);
    if (authorities.some((authority) => isIssuer(read, authority))) return true;
    const next = at.issuerCertificate as DetailedPeerCertificate | undefined;
    if (next?.raw === undefined || next === at || next.raw.equals(at.raw)) return false;
    if (!isIssuer(read, new X509Certificate(next.raw))) return false;
    at = next;
  }
  return false;
}

function isIssuer(certificate: X509Certificate, issuer: X509Certificate): boolean {
  if (certificate.raw.equals(issuer.raw)) return issuer.ca;
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
