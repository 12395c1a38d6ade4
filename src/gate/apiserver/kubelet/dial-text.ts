/** Explains a failed connection in the words of Go's net/http, because users search for them. */
import { ownEntry } from "#base/own.ts";
import { ByteTransportError, type Host } from "#platform/byte-transport.ts";

const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  EACCES: "connect: permission denied",
  ETIMEDOUT: "i/o timeout",
  EADDRNOTALLOWED: "address not allowed",
};

const certificateTexts: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate signed by unknown authority",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate signed by unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT: "certificate signed by unknown authority",
  CERT_SIGNATURE_FAILURE: "certificate signed by unknown authority",
  INVALID_PURPOSE: "certificate specifies an incompatible key usage",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate signed by unknown authority",
  CERT_HAS_EXPIRED: "certificate has expired or is not yet valid",
  CERT_NOT_YET_VALID: "certificate has expired or is not yet valid",
};

function isCertificateProblem(error: ByteTransportError): boolean {
  return (
    error.code === "ERR_TLS_CERT_ALTNAME_INVALID" || Object.hasOwn(certificateTexts, error.code)
  );
}

/** Text of a network error. @throws any other error unchanged. */
export function dialText(error: unknown, { name, port, address }: Host): string {
  if (!(error instanceof ByteTransportError)) throw error;
  const { code } = error;
  const at = `dial tcp ${joinHostPort(address ?? name, port)}`;
  const why = Object.hasOwn(connectTexts, code) ? ownEntry(connectTexts, code) : undefined;
  if (why !== undefined) return `${at}: ${why}`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `dial tcp: lookup ${name}: no such host`;
  if (code === "ECONNRESET") return "EOF";
  if (code === "HPE_HEADER_OVERFLOW")
    return "net/http: server response headers exceeded 65536 bytes; aborted";
  if (!isCertificateProblem(error)) return error.message;
  const fault = ownEntry(certificateTexts, code) ?? `certificate is not valid for ${name}`;
  return `tls: failed to verify certificate: x509: ${fault}`;
}

/** Host and port: `10.0.0.1:80`, `[fd00::1]:80` */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
