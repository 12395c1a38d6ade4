/** `--controllers` takes upstream's names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isChosen, unknownController } from "./controller-names.ts";

test("upstream's names, older spellings and our own name one controller", () => {
  const same = [
    ["deployment-controller", "deployment"],
    ["endpoint-slice-controller", "endpointslice-controller", "endpointslice"],
    ["garbage-collector", "garbage-collector-controller", "garbagecollector"],
    ["node-controller", "node-lifecycle-controller", "nodelifecycle"],
    ["ephemeral_volume", "ephemeral-volume-controller", "ephemeral-volume"],
    ["taint-eviction-controller"],
  ];
  for (const [component = "", ...others] of same) {
    for (const name of [component, ...others]) assert.equal(isChosen(component, [name]), true);
  }
});

test("the first entry that names a controller decides, and * stands for the rest", () => {
  const chosen = ["*", "-nodelifecycle", "node-lifecycle-controller", "-job-controller"];
  assert.equal(isChosen("node-controller", chosen), false);
  assert.equal(isChosen("job-controller", chosen), false);
  assert.equal(isChosen("deployment-controller", chosen), true);
  assert.equal(isChosen("deployment-controller", ["job"]), false);
  assert.equal(isChosen("job-controller", ["job"]), true);
  assert.equal(isChosen("job-controller", ["job", "-job"]), true);
  assert.equal(isChosen("job-controller", []), false);
});

test("a name that upstream does not know is found", () => {
  const known = ["*", "-ttl-controller", "bootstrapsigner", "service", "svm", "-podgc"];
  assert.equal(unknownController(known), undefined);
  for (const name of ["deployments", "Deployment", "", "deployment-controller-controller", "--job"])
    assert.equal(unknownController(["*", name]), name.replace(/^-/, ""));
});
