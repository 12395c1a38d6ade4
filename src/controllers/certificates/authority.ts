/** What the certificate loops need of X.509, which this room has no part of: the program hands it in. */

/** Names a certificate request asks for; of alternative names, how many of each kind. */
export interface RequestNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: number;
  readonly emails: number;
  readonly addresses: number;
  readonly uris: number;
}

export interface CertificateAuthority {
  /** `request` is spec.request: base64 of PEM. */
  readRequest(request: string): RequestNames | { readonly fault: string };
  /** PEM of a certificate. Throws when the authority cannot sign now: the request is tried again. */
  sign(request: string, usages: readonly string[], ttlMs: number): string;
  /** When the certificate in a PEM text ends; undefined where there is none. */
  endMs(certificate: string): number | undefined;
}
