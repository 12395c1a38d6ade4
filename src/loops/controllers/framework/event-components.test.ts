/** Events say upstream's source, whatever a controller is called elsewhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventComponent } from "./event-components.ts";

test("events of five controllers have a source of their own, the others their controller's name", () => {
  const accounts = ["expand", "ephemeral-volume", "disruption"].map((one) => `${one}-controller`);
  const sources = accounts.map((account) => eventComponent(account, "x"));
  assert.deepEqual(sources, ["volume_expand", "ephemeral_volume", "controllermanager"]);
  assert.equal(eventComponent("generic-garbage-collector", "x"), "garbage-collector-controller");
  assert.equal(eventComponent("resource-claim-controller", "x"), "resource_claim");
  assert.equal(eventComponent("job-controller", "job-controller"), "job-controller");
});
