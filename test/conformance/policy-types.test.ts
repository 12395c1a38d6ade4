/** The type checks of ValidatingAdmissionPolicies, by upstream's names ([sig-api-machinery] ValidatingAdmissionPolicy). */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ValidatingAdmissionPolicy } from "#api/gen/types.ts";
import { cronTabDefinition, definitionsPath } from "#extension/testing/plane.ts";
import { type PromisedPlane, startPromised } from "../attacks/promised-plane.ts";
import { constraints, policies, policy } from "./policy-world.ts";

const ref = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  resource: "validatingadmissionpolicies",
};
const ofDeployments = { matchConstraints: constraints(["deployments"], "apps") };
const ofCronTabs = { matchConstraints: constraints(["crontabs"], "stable.example.com") };

describe("ValidatingAdmissionPolicy", () => {
  let plane: PromisedPlane;
  before(async () => {
    plane = await startPromised({ withLoops: true });
  });
  after(() => plane.stop());

  /** Resolves with the first state of the policy whose status is of its generation. */
  async function checked(name: string): Promise<ValidatingAdmissionPolicy> {
    const { promise, resolve } = Promise.withResolvers<ValidatingAdmissionPolicy>();
    const ending = new AbortController();
    const call = { fieldSelector: `metadata.name=${name}`, signal: ending.signal };
    const watching = plane.plane.client.watch<ValidatingAdmissionPolicy>(ref, call, (events) => {
      for (const { object } of events) {
        const { metadata, status } = object;
        if (status?.observedGeneration === metadata?.generation) resolve(object);
      }
    });
    const found = await promise;
    ending.abort();
    await watching;
    return found;
  }

  async function put(name: string, spec: object): Promise<ValidatingAdmissionPolicy> {
    const body = policy("validating", name, spec);
    const answer = await plane.ask("POST", policies("validating"), { body });
    assert.equal(answer.status, 201, answer.text);
    return checked(name);
  }

  function warningsOf({ status }: ValidatingAdmissionPolicy): readonly (readonly string[])[] {
    const { expressionWarnings = [] } = status?.typeChecking ?? {};
    return expressionWarnings.map(({ fieldRef, warning }) => [
      fieldRef ?? "",
      warning?.split("\n")[0] ?? "",
    ]);
  }

  test("should type check validation expressions", async () => {
    const validations = [{ expression: "object.spec.replicas > 1" }];
    const right = await put("correct-policy", { ...ofDeployments, validations });
    assert.deepEqual(right.status, { observedGeneration: 1, typeChecking: {} });
    const confused = {
      expression: "object.spec.replicas > '1'",
      messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
    };
    const wrong = await put("confused-policy", { ...ofDeployments, validations: [confused] });
    assert.deepEqual(warningsOf(wrong), [
      [
        "spec.validations[0].expression",
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'",
      ],
      [
        "spec.validations[0].messageExpression",
        "apps/v1, Kind=Deployment: ERROR: <input>:1:28: found no matching overload for '_+_' applied to '(string, int)'",
      ],
    ]);
    const { managedFields = [] } = wrong.metadata ?? {};
    const own = managedFields.find(({ subresource }) => subresource === "status");
    assert.equal(own?.manager, "validatingadmissionpolicy-status");
    assert.equal(own.operation, "Apply");
  });

  test("should type check a CRD", async () => {
    const answer = await plane.ask("POST", definitionsPath, { body: cronTabDefinition() });
    assert.equal(answer.status, 201, answer.text);
    const validations = [
      { expression: "object.spec.replicas > '1'" },
      { expression: "object.spec.maxRetries < 10" },
    ];
    const wrong = await put("confused-crd-policy", { ...ofCronTabs, validations });
    assert.deepEqual(warningsOf(wrong), [
      [
        "spec.validations[0].expression",
        "stable.example.com/v1, Kind=CronTab: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'",
      ],
      [
        "spec.validations[1].expression",
        "stable.example.com/v1, Kind=CronTab: ERROR: <input>:1:12: undefined field 'maxRetries'",
      ],
    ]);
  });

  test("a changed policy is checked again, and only then", async () => {
    const body = { spec: { validations: [{ expression: "object.spec.foo == 1" }] } };
    const type = "application/merge-patch+json";
    const path = `${policies("validating")}/correct-policy`;
    assert.equal((await plane.ask("PATCH", path, { body, type })).status, 200);
    const changed = await checked("correct-policy");
    assert.equal(changed.status?.observedGeneration, 2);
    assert.equal(warningsOf(changed).length, 1);
  });
});
