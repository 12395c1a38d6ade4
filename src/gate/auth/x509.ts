/**
 * Authenticates the user of a client certificate: common name = user, organizations = groups.
 *
 * In     the certificate that the transport has verified against the authority.
 * Cost   one WeakMap look-up per request while the connection keeps its array; a SHA-256 otherwise.
 * The validity is checked again on each request, because a connection may outlive its certificate.
 */
import { createHash } from "node:crypto";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { AuthenticationResult, Authenticator } from "./auth.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { certificateIdentity } from "./certificate.ts";
import { withAuthenticated } from "./groups.ts";

/** Maximum number of known certificates, of about 1 KB each. Nodes are the largest group of clients with certificates. */
const certificatesMax = 65_536;

interface KnownCertificate {
  /** SHA-256 of the certificate, in hex. */
  readonly fingerprint: string;
  /** User of the certificate. Absent: the certificate has no common name. */
  readonly user?: UserInfo;
  /** Whether the certificate cannot be read. Upstream ends the handshake: this is a bad credential, not a missing one. */
  readonly unreadable?: true;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

interface CertificateDeps {
  readonly clock: Clock;
  /** Observes the remaining lifetime of a certificate that a request came with. Negative: it has expired. */
  readonly observeLeft?: (seconds: number) => void;
  /** Whether the fingerprint is that of this server's own certificate, which no client may use. Absent: no certificate is. */
  readonly isOwn?: (fingerprint: string) => boolean;
}

export class CertificateAuthenticator implements Authenticator {
  readonly #clock: Clock;
  readonly #observeLeft: (seconds: number) => void;
  readonly #isOwn: (fingerprint: string) => boolean;
  readonly #byArray = new WeakMap<Uint8Array, KnownCertificate>();
  readonly #byFingerprint = new BoundedCache<KnownCertificate>({ entriesMax: certificatesMax });

  constructor({ clock, observeLeft = () => {}, isOwn = () => false }: CertificateDeps) {
    this.#clock = clock;
    this.#isOwn = isOwn;
    this.#observeLeft = observeLeft;
  }

  authenticate(request: PlainRequest): Promise<AuthenticationResult> {
    const { peer } = request;
    if (peer.kind !== "socket") return Promise.resolve({ kind: "none" });
    if (peer.certificate === undefined) return Promise.resolve(unverified(peer.certificateProblem));
    const known = this.#known(peer.certificate);
    if (known.unreadable !== true) {
      this.#observeLeft((known.notAfterMs - this.#clock.nowMs()) / 1_000);
    }
    return Promise.resolve(this.#decide(known));
  }

  /** Returns a check whether the certificate of this connection still names its user. Undefined: no certificate names a user. */
  recall({ peer }: PlainRequest): (() => boolean) | undefined {
    if (peer.kind !== "socket" || peer.certificate === undefined) return undefined;
    const known = this.#known(peer.certificate);
    return known.user === undefined ? undefined : () => this.#decide(known).kind === "user";
  }

  #decide(known: KnownCertificate): AuthenticationResult {
    if (known.unreadable === true) {
      return { kind: "rejected", message: "x509: the certificate's names cannot be read" };
    }
    // The request is this server's own and was redirected back here, or its sender has stolen the key.
    if (this.#isOwn(known.fingerprint)) {
      return { kind: "rejected", message: "x509: the certificate is this server's own" };
    }
    if (known.user === undefined) return { kind: "none" };
    const now = this.#clock.nowMs();
    if (now < known.notBeforeMs || now > known.notAfterMs) {
      return {
        kind: "rejected",
        message: "x509: certificate has expired or is not yet valid",
      };
    }
    return { kind: "user", user: known.user };
  }

  #known(certificate: Uint8Array): KnownCertificate {
    const seen = this.#byArray.get(certificate);
    if (seen !== undefined) return seen;
    const fingerprint = createHash("sha256").update(certificate).digest("hex");
    const known = this.#byFingerprint.get(fingerprint) ?? readCertificate(certificate, fingerprint);
    this.#byFingerprint.set(fingerprint, known);
    this.#byArray.set(certificate, known);
    return known;
  }
}

/** Returns the result for a certificate that no authority of clients has signed: a bad credential, not a missing one. */
function unverified(problem: string | undefined): AuthenticationResult {
  return problem === undefined ? { kind: "none" } : { kind: "rejected", message: problem };
}

function readCertificate(certificate: Uint8Array, fingerprint: string): KnownCertificate {
  const identity = certificateIdentity(certificate);
  if (identity === undefined)
    return { fingerprint, unreadable: true, notBeforeMs: 0, notAfterMs: 0 };
  const { notBeforeMs, notAfterMs } = identity;
  if (identity.commonName === "") return { fingerprint, notBeforeMs, notAfterMs };
  const user = withAuthenticated({
    name: identity.commonName,
    ...given({ uid: identity.uid }),
    groups: identity.organizations,
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
  });
  return { fingerprint, user, notBeforeMs, notAfterMs };
}
