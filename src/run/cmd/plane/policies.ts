/** Admission policies over the registry's caches. */
import type { Lister } from "#api/lister.ts";
import type { Authorizer } from "#auth/auth.ts";
import type { ExpressionRunner } from "#extension/expressions/runner.ts";
import { createPolicies, type Policies } from "#extension/policies/plugins.ts";
import type { Clock } from "#platform/clock.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { changesOf } from "./access.ts";

interface Parts {
  readonly lookup: Lister;
  readonly registry: OpenRegistry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: MetricSet;
  readonly runner: ExpressionRunner;
}

const group = "admissionregistration.k8s.io";

export function openPolicies({ registry, ...parts }: Parts): Policies {
  const changes = (type: "mutating" | "validating"): (() => number) =>
    changesOf(registry, [
      { group, resource: `${type}admissionpolicies` },
      { group, resource: `${type}admissionpolicybindings` },
    ]);
  return createPolicies({
    ...parts,
    versions: { mutating: changes("mutating"), validating: changes("validating") },
  });
}
