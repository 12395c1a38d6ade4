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

interface SignatureOrder {
  /** One that `serves` takes. */
  readonly signer: string;
  readonly usages: readonly string[];
  readonly ttlMs: number;
}

export interface CertificateAuthority {
  /** `request` is spec.request: base64 of PEM. */
  readRequest(request: string): RequestNames | { readonly fault: string };
  /** Whether requests of this signer are signed here at all. */
  serves(signer: string): boolean;
  /** PEM of a certificate. Throws when the authority cannot sign now: the request is tried again. */
  sign(request: string, order: SignatureOrder): string;
  /** When the certificate in a PEM text ends; undefined where there is none. */
  endMs(certificate: string): number | undefined;
}
