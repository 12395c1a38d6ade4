/** What a controller manager, as a process of its own, writes into the status of a policy whose expressions do not fit. */
import assert from "node:assert/strict";
import type { ValidatingAdmissionPolicy } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { until } from "./role-harness.ts";

const policies = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  resource: "validatingadmissionpolicies",
};

/** Creates the policy, and waits for its status. */
export async function expectTypeWarnings(client: Client): Promise<void> {
  const rule = { apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] };
  await client.create<ValidatingAdmissionPolicy>(policies, "", {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "types" },
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE"] }] },
      validations: [
        { expression: "object.spec.replicas > 1" },
        { expression: "object.spec.replicas > 'one'" },
      ],
    },
  });
  const status = await until("the policy's status", async () => {
    const policy = await client.get<ValidatingAdmissionPolicy>(policies, "", "types");
    return policy.status?.observedGeneration === 1 ? policy.status : undefined;
  });
  assert.deepEqual(status.typeChecking?.expressionWarnings, [
    {
      fieldRef: "spec.validations[1].expression",
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n" +
        " | object.spec.replicas > 'one'\n" +
        " | .....................^\n",
    },
  ]);
}
