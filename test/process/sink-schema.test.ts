/** `pilothouse sink schema` on a live plane: built-in kinds and a custom one, of every format. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pilothouse, removeDirectory, root, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { until } from "./role-harness.ts";

const redis = `redis: {url: "redis://127.0.0.1:1", stream: "k8s:{resource}"}`;
const file = `
sinks:
  - name: events
    ${redis}
    resources: [{resource: v1/pods}, {resource: example.com/v1/websites}]
  - name: fields
    ${redis}
    format: json
    resources: [{resource: apps/v1/deployments, fields: {replicas: .spec.replicas}}]
`;

interface Schemas {
  readonly schemas: Readonly<
    Record<string, { readonly $defs?: object; readonly properties?: object }>
  >;
}

test("each source has a schema that is whole by itself", { timeout: 120_000 }, async () => {
  const directory = temporaryDirectory("sink-schema");
  const plane = await startUp(["--data-dir", join(directory, "data"), "--port", "0"]);
  const admin = new KubeHttp(credentialsOf(plane.kubeconfig));
  try {
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const website = readFileSync(join(root, "examples", "website-crd.json"), "utf8");
    assert.equal((await admin.request("POST", definitions, JSON.parse(website))).status, 201);
    const path = join(directory, "sinks.yaml");
    writeFileSync(path, file);
    const args = ["sink", "schema", path, "--kubeconfig", plane.kubeconfig];
    const { stdout } = await until("the custom kind is served", () => {
      const told = pilothouse(args);
      return Promise.resolve(told.code === 0 ? told : undefined);
    });
    const { schemas } = JSON.parse(stdout) as Schemas;
    assert.deepEqual(Object.keys(schemas), [
      "events v1/pods",
      "events example.com/v1/websites",
      "fields apps/v1/deployments",
    ]);
    assert.ok("io.k8s.api.core.v1.PodSpec" in (schemas["events v1/pods"]?.$defs ?? {}));
    for (const [name, schema] of Object.entries(schemas)) {
      const defs = new Set(Object.keys(schema.$defs ?? {}));
      const refs = JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]*)"/g);
      for (const [, to = ""] of refs) assert.ok(defs.has(to), `${name}: ${to}`);
      assert.doesNotMatch(JSON.stringify(schema), /components\/schemas/);
    }
  } finally {
    admin.close();
    await plane.kill();
    removeDirectory(directory);
  }
});
