/** /configz: Go's durations, the configuration in effect, and no key in it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerManagerConfigz } from "../controller-manager/configz.ts";
import type { ControllerManagerFlags } from "../controller-manager/flags.ts";
import { schedulerConfigz } from "../scheduler/configz.ts";
import type { SchedulerFlags } from "../scheduler/flags.ts";
import { schedulerDefaults } from "#scheduler/scheduler.ts";
import { durationText } from "./configz.ts";

test("durations are Go's text", () => {
  const texts = [0, 20, 1_500, 15_000, 300_000, 3_723_000, 31_536_000_000].map(durationText);
  assert.deepEqual(texts, ["0s", "20ms", "1.5s", "15s", "5m0s", "1h2m3s", "8760h0m0s"]);
});

// The flags that it reads, as commander gives them.
const flags = {
  kubeconfig: "scheduler.conf",
  leaderElect: true,
  leaderElectLeaseDuration: 15_000,
} as unknown as SchedulerFlags;

test("the scheduler's configuration shows profiles as given, and no private key", () => {
  const keyData = Buffer.from("secret key").toString("base64");
  const extender = { urlPrefix: "https://a", tlsConfig: { caFile: "ca.pem", keyData } };
  const profiles = [{ schedulerName: "a", plugins: { score: { disabled: [{ name: "*" }] } } }];
  const document = { profiles, extenders: [extender], percentageOfNodesToScore: 0 };
  const shown = schedulerConfigz(flags, schedulerDefaults.queue, document);
  const text = JSON.stringify(shown);
  assert.ok(!text.includes(keyData));
  assert.match(text, /"percentageOfNodesToScore":0,/);
  assert.match(
    text,
    /"extenders":\[\{"urlPrefix":"https:\/\/a","tlsConfig":\{"caFile":"ca.pem"\}\}\]/,
  );
  assert.ok(text.includes(JSON.stringify(profiles)));
});

test("without --config it shows what is in effect", () => {
  const text = JSON.stringify(schedulerConfigz(flags, schedulerDefaults.queue, {}));
  assert.match(text, /^\{"componentconfig":\{"kind":"KubeSchedulerConfiguration",/);
  assert.match(text, /"profiles":\[\{"schedulerName":"default-scheduler"\}\]/);
  assert.match(text, /"percentageOfNodesToScore":100,"podInitialBackoffSeconds":1,/);
});

test("the controller manager's configuration shows its flags, and of its key the path", () => {
  const given = {
    horizontalPodAutoscalerDownscaleStabilization: 300_000,
    controllers: ["*", "-ttl-controller"],
    serviceAccountPrivateKeyFile: "sa.key",
  } as unknown as ControllerManagerFlags;
  const text = JSON.stringify(controllerManagerConfigz(given));
  assert.match(text, /^\{"kubecontrollermanager\.config\.k8s\.io":\{"kind":"KubeController/);
  assert.match(text, /"HorizontalPodAutoscalerDownscaleStabilizationWindow":"5m0s"/);
  assert.match(text, /"Controllers":\["\*","-ttl-controller"\]/);
  assert.match(text, /"ServiceAccountKeyFile":"sa\.key"/);
});
