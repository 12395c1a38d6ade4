/**
 * What has to be done at the start before the server is well, under the names that upstream gives its
 * start hooks, in upstream's order. A hook of upstream that does nothing here has no name here.
 *
 * Holds  a hook is well from the end of its stage on; a stage never begins again.
 */
import type { HealthCheck } from "#server/health.ts";

/**
 * `caches`: every cache has its first snapshot, what reads them (admission, service addresses) with it, and
 * custom kinds are served. `objects`: the bootstrap objects are durable. `aggregation`: APIServices are followed.
 */
type Stage = "caches" | "objects" | "aggregation";

const hooks: readonly (readonly [name: string, stage: Stage])[] = [
  ["poststarthook/start-apiserver-admission-initializer", "caches"],
  ["poststarthook/generic-apiserver-start-informers", "caches"],
  ["poststarthook/priority-and-fairness-config-consumer", "objects"],
  ["poststarthook/start-apiextensions-informers", "caches"],
  ["poststarthook/start-apiextensions-controllers", "caches"],
  ["poststarthook/crd-informer-synced", "caches"],
  ["poststarthook/start-system-namespaces-controller", "objects"],
  ["poststarthook/start-cluster-authentication-info-controller", "objects"],
  ["poststarthook/storage-readiness", "caches"],
  ["poststarthook/start-legacy-token-tracking-controller", "objects"],
  ["poststarthook/start-service-ip-repair-controllers", "caches"],
  ["poststarthook/rbac/bootstrap-roles", "objects"],
  ["poststarthook/scheduling/bootstrap-system-priority-classes", "objects"],
  ["poststarthook/priority-and-fairness-config-producer", "objects"],
  ["poststarthook/bootstrap-controller", "objects"],
  ["poststarthook/start-kube-aggregator-informers", "aggregation"],
  ["poststarthook/apiservice-status-local-available-controller", "aggregation"],
  ["poststarthook/apiservice-status-remote-available-controller", "aggregation"],
  ["poststarthook/apiservice-registration-controller", "aggregation"],
  ["poststarthook/apiservice-discovery-controller", "aggregation"],
  ["poststarthook/kube-apiserver-autoregistration", "objects"],
  ["autoregister-completion", "objects"],
  ["poststarthook/apiservice-openapi-controller", "aggregation"],
  ["poststarthook/apiservice-openapiv3-controller", "aggregation"],
];

export class StartHooks {
  readonly #finished = new Set<Stage>();
  readonly checks: readonly HealthCheck[] = hooks.map(([name, stage]) => ({
    name,
    check: () => (this.#finished.has(stage) ? undefined : "not finished"),
  }));

  finish(stage: Stage): void {
    this.#finished.add(stage);
  }
}
