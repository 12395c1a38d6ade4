/** Cost of policies for a request: of policies that do not match, and of one that matches. */
import { createAdmission } from "#admission/chain.ts";
import { fakeRequest } from "#admission/testing.ts";
import type { AnyObject } from "#api/object.ts";
import { builtinResources, resourceByPath } from "#api/schema/resources.ts";
import { ResourceCatalog } from "#apiserver/catalog.ts";
import { mastersAuthorizer } from "#auth/authorize.ts";
import { must } from "#base/assert.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { ExpressionRunner } from "../expressions/runner.ts";
import { createPolicies } from "./plugins.ts";

const apiVersion = "admissionregistration.k8s.io/v1";

function policies(count: number, resource: string): readonly AnyObject[] {
  const rule = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: [resource] };
  return Array.from({ length: count }, (_, at) => {
    const metadata = { name: `p-${at}` };
    const matchConstraints = { resourceRules: [rule] };
    const validations = [{ expression: "object.data.all(key, object.data[key].size() < 10)" }];
    const kind = "ValidatingAdmissionPolicy";
    const bound = { policyName: `p-${at}`, validationActions: ["Deny"] };
    return [
      { apiVersion, kind, metadata, spec: { matchConstraints, validations } },
      { apiVersion, kind: `${kind}Binding`, metadata, spec: bound },
    ];
  }).flat();
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
}

async function measure(name: string, objects: readonly AnyObject[]): Promise<void> {
  const made = createPolicies({
    lookup: {
      get: () => undefined,
      list: ({ resource }) => objects.filter(({ kind = "" }) => pluralOf(kind) === resource),
    },
    authorizer: mastersAuthorizer,
    clock: new FakeClock(),
    metrics: new MetricSet(),
    runner: new ExpressionRunner(undefined),
    versions: { mutating: () => 1, validating: () => 1 },
  });
  made.serve(new ResourceCatalog({ store: () => ({}) } as never, builtinResources()));
  const admission = createAdmission([made.mutating, made.validating]);
  const info = must(resourceByPath("", "v1", "configmaps"), "built in");
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, data: { a: "b" } };
  const request = fakeRequest(object, { info, namespace: "default", name: "x" });
  const rounds = 100_000;
  for (let at = 0; at < rounds / 10; at++) await admission.validate(request);
  const start = process.hrtime.bigint();
  for (let at = 0; at < rounds; at++) {
    await admission.mutate(request);
    await admission.validate(request);
  }
  const each = Number(process.hrtime.bigint() - start) / 1000 / rounds;
  process.stdout.write(`${name}: ${each.toFixed(2)} us a request\n`);
}

await measure("no policy", []);
await measure("50 policies that do not match", policies(50, "secrets"));
await measure("a policy that matches", policies(1, "configmaps"));
