/** A kubeconfig is read back by a YAML parser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { kubeconfigYaml } from "./kubeconfig.ts";

test("a kubeconfig embeds its certificates and selects its only context", () => {
  const text = kubeconfigYaml({
    server: "https://127.0.0.1:6443",
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    user: "kubernetes-admin",
    cluster: 'pilothouse: "x"',
  });
  const config = parse(text);
  assert.equal(config["current-context"], config.contexts[0].name);
  assert.equal(config.clusters[0].name, 'pilothouse: "x"');
  assert.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
  const user = config.users[0].user;
  assert.equal(Buffer.from(user["client-key-data"], "base64").toString(), "KEY");
});
