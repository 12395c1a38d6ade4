/** Metrics of webhooks, by upstream's names and labels. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import type { Hook, HookType } from "./hook.ts";

type ErrorType = "no_error" | "calling_webhook_error" | "apiserver_internal_error";

export interface Call {
  readonly hook: Hook;
  readonly type: HookType;
  readonly operation: AdmissionRequest["operation"];
  readonly seconds: number;
  /** Status code: 200 if the webhook allowed the request, 0 for a fault of this server. */
  readonly code: number;
  readonly rejected: boolean;
}

/** Values of upstream's label for the type. */
const typeLabels = { mutating: "admit", validating: "validating" } as const;
const codeMost = 600;

export class WebhookMetrics {
  readonly #durations: Histogram;
  readonly #requests: Counter;
  readonly #rejections: Counter;
  readonly #failedOpen: Counter;

  constructor(metrics: MetricSet) {
    const name = (rest: string): string => `apiserver_admission_webhook_${rest}`;
    this.#durations = metrics.histogram(
      name("admission_duration_seconds"),
      "[STABLE] Admission webhook latency, by name, type and operation.",
      ["name", "type", "operation", "rejected"],
      [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    );
    this.#requests = metrics.counter(
      name("request_total"),
      "[ALPHA] Admission webhook requests, by name, type, operation and code.",
      ["name", "type", "operation", "code", "rejected"],
    );
    this.#rejections = metrics.counter(
      name("rejection_count"),
      "[ALPHA] Admission webhook rejections, by name, type, operation and cause.",
      ["name", "type", "operation", "error_type", "rejection_code"],
    );
    this.#failedOpen = metrics.counter(
      name("fail_open_count"),
      "[ALPHA] Admission webhook calls that failed and were ignored.",
      ["name", "type"],
    );
  }

  called({ hook, type, operation, seconds, code, rejected }: Call): void {
    const labels = [hook.name, typeLabels[type], operation];
    this.#durations.observe([...labels, String(rejected)], seconds);
    this.#requests.add([...labels, codeText(code), String(rejected)]);
  }

  rejected({ hook, type, operation, code }: Call, error: ErrorType): void {
    this.#rejections.add([hook.name, typeLabels[type], operation, error, codeText(code)]);
  }

  failedOpen({ hook, type }: Call): void {
    this.#failedOpen.add([hook.name, typeLabels[type]]);
  }
}

function codeText(code: number): string {
  return String(Math.min(code, codeMost));
}
