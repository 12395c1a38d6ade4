/** A kubeconfig is read back by a YAML parser. */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { parse } from "yaml";
import { kubeconfigYaml } from "./kubeconfig.ts";
import { makeKeyPair } from "./pki.ts";

const keys = makeKeyPair();

test("a kubeconfig embeds its certificates and selects its only context", () => {
  const text = kubeconfigYaml({
    server: "https://127.0.0.1:6443",
    ca: "CA",
    cert: "CERT",
    key: keys.privateKey,
    user: "kubernetes-admin",
    cluster: 'pilothouse: "x"',
  });
  const config = parse(text);
  assert.equal(config["current-context"], config.contexts[0].name);
  assert.equal(config.clusters[0].name, 'pilothouse: "x"');
  assert.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
  const user = config.users[0].user;
  const key = Buffer.from(user["client-key-data"], "base64").toString();
  // What clients in Java know an EC key by.
  assert.match(key, /^-----BEGIN EC PRIVATE KEY-----\n/);
  assert.equal(createPublicKey(key).equals(createPublicKey(keys.publicKey)), true);
});

test("a key of another kind is embedded as it is", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const names = { user: "u", cluster: "c", server: "https://127.0.0.1:6443" };
  const config = parse(kubeconfigYaml({ ...names, ca: "CA", cert: "CERT", key }));
  const embedded = config.users[0].user["client-key-data"];
  assert.equal(Buffer.from(embedded, "base64").toString(), key);
});
