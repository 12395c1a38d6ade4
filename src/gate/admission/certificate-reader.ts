/** How plugins read the certificate request inside a CertificateSigningRequest; the server hands it in. */

interface CertificateRequestFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Why the signature does not prove that the sender holds the key; undefined when it does. */
  signatureFault(): string | undefined;
}

type CertificateRequestResult =
  | { readonly kind: "read"; readonly facts: CertificateRequestFacts }
  | { readonly kind: "unreadable"; readonly fault: string };

/** `request` is spec.request as JSON has it: base64 of PEM. */
export type ReadCertificateRequest = (request: string) => CertificateRequestResult;
