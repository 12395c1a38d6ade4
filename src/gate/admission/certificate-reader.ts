/** Access to the certificate request in a CertificateSigningRequest; provided by the server. */

interface CertificateRequestFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Why the signature does not prove possession of the key; undefined when it does. */
  signatureFault(): string | undefined;
}

type CertificateRequestResult =
  | { readonly kind: "read"; readonly facts: CertificateRequestFacts }
  | { readonly kind: "unreadable"; readonly fault: string };

/** `request`: spec.request, which is PEM encoded in base64. */
export type ReadCertificateRequest = (request: string) => CertificateRequestResult;
