/**
 * Counts certificates that were issued to requests that asked for a duration, with upstream's names: how many, and how
 * many have about that duration.
 *
 * Holds   a request is counted once, when its certificate comes, and never for a dry run.
 * Bounds  signers other than Kubernetes' own are one series, `other`; the count of series of those is bounded by the
 *         metric set (a name below `kubernetes.io/` is the client's choice).
 */
import { X509Certificate } from "node:crypto";
import type { CertificateSigningRequest } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Counter, MetricSet } from "#metrics/metric-set.ts";

const ofIssued = "Total number of issued CSRs with a requested duration";
const sliced = "sliced by signer (only kubernetes.io signer names are specifically identified)";
/** Allowance for certificates that are dated back. A twentieth of the duration comes to it. */
const backdatedMs = 300_000;

export class IssuedCertificates {
  readonly #requested: Counter;
  readonly #honored: Counter;

  constructor(set: MetricSet) {
    const name = "apiserver_certificates_registry_csr";
    const labels = ["signerName"];
    this.#requested = set.counter(
      `${name}_requested_duration_total`,
      `[ALPHA] ${ofIssued}, ${sliced}`,
      labels,
    );
    this.#honored = set.counter(
      `${name}_honored_duration_total`,
      `[ALPHA] ${ofIssued} that was honored, ${sliced}`,
      labels,
    );
  }

  /** Notes a stored update of an object of any kind. */
  noteUpdate({ group, resource }: ResourceInfo, before: AnyObject, after: AnyObject): void {
    if (resource !== "certificatesigningrequests" || group !== "certificates.k8s.io") return;
    const { spec, status } = before as unknown as CertificateSigningRequest; // by its resource
    const seconds = spec.expirationSeconds;
    const issued = (after as unknown as CertificateSigningRequest).status?.certificate ?? "";
    if ((status?.certificate ?? "") !== "" || seconds === undefined || issued === "") return;
    const signer = [spec.signerName.startsWith("kubernetes.io/") ? spec.signerName : "other"];
    this.#requested.add(signer);
    if (isHonored(Number(seconds) * 1_000, issued)) this.#honored.add(signer);
  }
}

/** @param issued base64 of a PEM text whose first certificate counts */
function isHonored(wantedMs: number, issued: string): boolean {
  try {
    const { validFrom, validTo } = new X509Certificate(Buffer.from(issued, "base64"));
    const differenceMs = Math.abs(wantedMs - (Date.parse(validTo) - Date.parse(validFrom)));
    return differenceMs < backdatedMs + wantedMs / 20;
  } catch {
    return false; // A text that is no certificate has no duration; the validation of the kind speaks of it.
  }
}
