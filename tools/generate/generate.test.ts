/** The generator: complete, deterministic, names and texts as they should be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";
import { joinDefinitions } from "./definitions.ts";
import { listModels, readModel } from "./models.ts";
import { printDescriptions, printSchema } from "./tables.ts";
import { printTypes, typeNames } from "./typescript.ts";

const root = join(import.meta.dirname, "..", "..");

function generate() {
  return joinDefinitions(new Map(listModels(root).map((name) => [name, readModel(root, name)])));
}

const definitions = generate();

test("every class of the library becomes a definition, and every fact of the overlay is used", () => {
  // joinDefinitions throws for a class without a package and for a fact without a field.
  assert.equal(definitions.length, listModels(root).length + 3);
});

test("the same input gives the same bytes", () => {
  const again = generate();
  assert.equal(printSchema(again), printSchema(definitions));
  assert.equal(printDescriptions(again), printDescriptions(definitions));
  assert.equal(printTypes(again), printTypes(definitions));
});

test("kinds have their Go names; older versions and other groups say so in theirs", () => {
  const names = typeNames(definitions);
  const cases: Readonly<Record<string, string>> = {
    "io.k8s.api.core.v1.Pod": "Pod",
    "io.k8s.api.core.v1.Event": "Event",
    "io.k8s.api.events.v1.Event": "EventsEvent",
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": "HorizontalPodAutoscaler",
    "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": "HorizontalPodAutoscalerV1",
    "io.k8s.api.resource.v1.ResourceClaim": "ResourceClaim",
    "io.k8s.api.core.v1.ResourceClaim": "CoreResourceClaim",
    "io.k8s.api.rbac.v1.Subject": "Subject",
    "io.k8s.api.authentication.v1.TokenRequest": "TokenRequest",
    "io.k8s.api.storage.v1.TokenRequest": "StorageTokenRequest",
  };
  for (const [definition, name] of Object.entries(cases)) {
    assert.equal(names.get(definition), name);
  }
});

test("descriptions come out of the library's comments as they went in", () => {
  const pod = definitions.find((d) => d.schema.name === "io.k8s.api.core.v1.PodSpec");
  assert.equal(pod?.description, "PodSpec is a description of a pod.");
  const rules = definitions.find((d) =>
    d.schema.name.endsWith("admissionregistration.v1.RuleWithOperations"),
  );
  assert.match(rules?.fieldDescriptions["resources"] ?? "", /'pods\/\*' means/);
  for (const d of definitions) assert.doesNotMatch(d.description, /Openapi Generator/);
});
