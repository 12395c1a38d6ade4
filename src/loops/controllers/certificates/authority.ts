/** X.509 functions that the certificate controllers need; the program provides them. */

/** The names in a certificate request; for alternative names, their number by kind. */
export interface RequestNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: number;
  readonly emails: number;
  readonly addresses: number;
  readonly uris: number;
}

interface SignatureOrder {
  /** A signer for which `serves` is true. */
  readonly signer: string;
  readonly usages: readonly string[];
  readonly ttlMs: number;
}

export interface CertificateAuthority {
  /** `request`: spec.request, PEM in base64. */
  readRequest(request: string): RequestNames | { readonly fault: string };
  /** Whether requests for this signer are signed here. */
  serves(signer: string): boolean;
  /** A certificate in PEM. Throws when signing is impossible now; the request is retried. */
  sign(request: string, order: SignatureOrder): string;
  /** Expiry of the certificate in a PEM text; undefined: it contains none. */
  endMs(certificate: string): number | undefined;
}
