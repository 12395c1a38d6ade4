/**
 * Which authorities a client certificate comes from, where two sets of them are trusted for different things:
 * clients, and front proxies; and whether it is good for a client as Go sees it.
 *
 * In     a certificate that TLS verified against both sets together, with the issuers it was sent with.
 * Cost   once per connection, a signature check per step; nothing on a server without front proxies, for a
 *        certificate whose purposes OpenSSL finds well.
 * Why not ask OpenSSL: it says that a chain verifies, not where it ends.
 */
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";

/** Maximum length of a chain. OpenSSL's own limit is 100; real chains have a few steps. */
const stepsMax = 8;

/** Parses authorities. Throws for a text that is no PEM certificate. */
export function authoritiesOf(pem: string | readonly string[]): readonly X509Certificate[] {
  return blocksOf(pem).map((block) => new X509Certificate(block));
}

/** Returns the authorities that can be read; OpenSSL ignores the others too. */
export function readableAuthorities(pem: readonly string[]): readonly X509Certificate[] {
  return blocksOf(pem).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

function blocksOf(pem: string | readonly string[]): readonly string[] {
  const text = typeof pem === "string" ? pem : pem.join("\n");
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

/**
 * Why the certificate of a connection is not good; "": it is. OpenSSL looks at a client's key usage, which Go does
 * not, and does not take "any purpose" for one.
 */
export function certificateProblem(
  socket: TLSSocket,
  authorities: readonly X509Certificate[],
): string {
  if (socket.authorized) return "";
  const problem = String(socket.authorizationError);
  const certificate = problem === "INVALID_PURPOSE" ? socket.getPeerCertificate(true) : undefined;
  const isGood =
    certificate !== undefined &&
    mayBeClient(new X509Certificate(certificate.raw), anyClientPurpose) &&
    comesFrom(certificate, authorities, (issuer) => mayBeClient(issuer, [clientPurpose]));
  return isGood ? "" : problem;
}

const clientPurpose = "1.3.6.1.5.5.7.3.2";
const anyClientPurpose = [clientPurpose, "2.5.29.37.0"];

/** Whether the extended key usage allows a client. An absent one limits nothing. */
function mayBeClient({ keyUsage }: X509Certificate, purposes: readonly string[]): boolean {
  // Node's `keyUsage` is the extended key usage; it is undefined when the certificate has none.
  const usages = (keyUsage as readonly string[] | undefined) ?? [];
  return usages.length === 0 || usages.some((usage) => purposes.includes(usage));
}

/**
 * `isGood`: asked of each issuer on the way. One that OpenSSL would find fault with is none: its last fault hides
 * those before.
 */
export function comesFrom(
  certificate: DetailedPeerCertificate,
  authorities: readonly X509Certificate[],
  isGood: (issuer: X509Certificate) => boolean = () => true,
): boolean {
  if (authorities.some(({ raw }) => raw.equals(certificate.raw))) return true;
  const anchors = authorities.filter(isGood);
  let at = certificate;
  for (let steps = 0; steps < stepsMax; steps++) {
    const read = new X509Certificate(at.raw);
    if (anchors.some((anchor) => isAnchorOf(read, anchor))) return true;
    const next = at.issuerCertificate as DetailedPeerCertificate | undefined;
    if (next?.raw === undefined || next === at || next.raw.equals(at.raw)) return false;
    const issuer = new X509Certificate(next.raw);
    if (!isIssuer(read, issuer) || !isGood(issuer)) return false;
    at = next;
  }
  return false;
}

/** Whether `anchor` is the certificate itself or its issuer: any certificate may be an anchor (trust.ts). */
function isAnchorOf(certificate: X509Certificate, anchor: X509Certificate): boolean {
  return certificate.raw.equals(anchor.raw) || isIssuer(certificate, anchor);
}

function isIssuer(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
