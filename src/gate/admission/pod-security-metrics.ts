/**
 * Metrics of PodSecurity, with upstream's names.
 *
 * Bounds  every label has a fixed set of values: a version is `latest`, a release up to ours, or `future`; the
 *         subresources are those of pods that PodSecurity looks at.
 */
import type { Counter, MetricSet } from "#metrics/metric-set.ts";
import type { AdmissionRequest } from "./admission.ts";
import { latestMinor, minorOf, type Mode, type Standard } from "./pod-security-settings.ts";

const ofRequest = ["request_operation", "resource", "subresource"];

export class PodSecurityMetrics {
  readonly #evaluations: Counter;
  readonly #exemptions: Counter;
  readonly #errors: Counter;

  constructor(set: MetricSet) {
    this.#evaluations = set.counter(
      "pod_security_evaluations_total",
      "[ALPHA] Number of policy evaluations that occurred, not counting ignored or exempt requests.",
      ["decision", "policy_level", "policy_version", "mode", ...ofRequest],
    );
    this.#exemptions = set.counter(
      "pod_security_exemptions_total",
      "[ALPHA] Number of exempt requests, not counting ignored or out of scope requests.",
      ofRequest,
    );
    this.#errors = set.counter(
      "pod_security_errors_total",
      "[ALPHA] Number of errors prevent normal evaluation. Non-fatal errors are evaluated against a default policy.",
      ["fatal", ...ofRequest],
    );
  }

  evaluated(
    request: AdmissionRequest,
    mode: Mode,
    { level, version }: Standard,
    decision: "allow" | "deny",
  ): void {
    const label = minorOf(version) > latestMinor ? "future" : version;
    this.#evaluations.add([decision, level, label, mode, ...labelsOf(request)]);
  }

  exempted(request: AdmissionRequest): void {
    this.#exemptions.add(labelsOf(request));
  }

  /** @param isFatal whether the request is refused for it */
  failed(request: AdmissionRequest, isFatal: boolean): void {
    this.#errors.add([String(isFatal), ...labelsOf(request)]);
  }
}

/** Resources other than pods are workloads, which upstream calls controllers. */
function labelsOf({ operation, info, subresource }: AdmissionRequest): readonly string[] {
  const isPod = info.group === "" && info.resource === "pods";
  return [operation.toLowerCase(), isPod ? "pod" : "controller", subresource];
}
