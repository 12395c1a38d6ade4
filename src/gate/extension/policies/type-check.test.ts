/** Type checking of policies against what a stock kube-controller-manager 1.36 wrote into their status. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ask } from "#apiserver/testing/plane.ts";
import { allSteps } from "#base/steps.ts";
import { cronTabDefinition, definitionsPath, openCustomPlane } from "../testing/plane.ts";
import { policyTypeChecker } from "./type-checker.ts";
import type { ExpressionWarning } from "./type-check.ts";

interface Recorded {
  readonly name: string;
  readonly spec: object;
  readonly status: { readonly typeChecking: { readonly expressionWarnings?: ExpressionWarning[] } };
}

const file = new URL("testdata/type-checking-1.36.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

const crontab = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          replicas: { type: "integer" },
          port: { "x-kubernetes-int-or-string": true },
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    },
  },
};

test("warnings are those of a stock kube-controller-manager, text for text", async () => {
  const plane = await openCustomPlane();
  try {
    const body = cronTabDefinition({ schema: crontab });
    assert.equal((await ask(plane, "POST", definitionsPath, { body })).status, 201);
    const check = policyTypeChecker(plane.server.catalog);
    for (const { name, spec, status } of recorded) {
      const policy: AnyObject = { metadata: { name }, spec: spec as AnyObject["spec"] };
      const { expressionWarnings = [] } = status.typeChecking;
      assert.deepEqual(allSteps(check(policy)), expressionWarnings, name);
    }
  } finally {
    await plane.close();
  }
});
