/**
 * What fabric8's Java client does, without Java: an informer over WebSocket, patch, edit, apply, a lease, and an exec
 * that is refused; through the API server and through a relay, for built-in and custom resources.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { JavaClient } from "./java-client.ts";

const directory = temporaryDirectory("java-client");
const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/x.example.com/v1/namespaces/default/widgets";
let up: Running;

before(async () => {
  const tokens = join(directory, "tokens");
  writeFileSync(tokens, 'java,java,u1,"system:masters"\n');
  const at = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "1"];
  up = await startUp([...at, "--relay", "127.0.0.1:0", "--token-auth-file", tokens]);
});

after(async () => {
  await up.stop();
  removeDirectory(directory);
});

const doors = { "the API server": /API\s+https:\S+:(\d+)/, "a relay": /relay\s+https:\S+:(\d+)/ };

function clientOf(door: RegExp): JavaClient {
  const ca = readFileSync(join(directory, "data/pki/ca.crt"), "utf8");
  return new JavaClient({ port: Number(door.exec(up.output())?.[1]), ca, token: "java" });
}

/** An informer: the list, and the watch from where it ends. */
async function informer(client: JavaClient, path: string, selector = "") {
  const { body } = await client.call("GET", `${path}?limit=500${selector}`);
  const { resourceVersion = "" } = body.metadata ?? {};
  const query = `allowWatchBookmarks=true&resourceVersion=${resourceVersion}${selector}&timeoutSeconds=600&watch=true`;
  const socket = await client.socket(`${path}?${query}`);
  assert.match(await socket.head(), /^HTTP\/1\.1 101 Switching Protocols\r\n/);
  return socket;
}

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.x.example.com" },
  spec: {
    group: "x.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

interface Conditions {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly phase?: string;
}

function isEstablished(object: AnyObject): boolean {
  const { conditions = [] } = (object["status"] ?? {}) as Conditions;
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}

test("a definition is established, as its informer sees over WebSocket", async () => {
  const client = clientOf(doors["the API server"]);
  const watching = await informer(client, definitions);
  assert.equal((await client.call("POST", definitions, definition)).status, 201);
  await watching.until((events) => events.some(({ object }) => isEstablished(object)));
  assert.deepEqual(await watching.close(), Buffer.of(3, 0xe8));
});

for (const [door, port] of Object.entries(doors)) {
  test(`an informer follows create, patch, edit, apply and delete through ${door}`, async () => {
    const client = clientOf(port);
    const watching = await informer(client, maps, "&labelSelector=f8%3Dy");
    const metadata = { name: "one", labels: { f8: "y" } };
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata };
    const made = await client.call("POST", maps, { ...map, data: { a: "1" } });
    assert.equal(made.status, 201);
    const patch = { data: { a: "2" } };
    const patched = await client.call(
      "PATCH",
      `${maps}/one`,
      patch,
      "application/merge-patch+json",
    );
    const edited = { ...patched.body, data: { a: "2", b: "3" } };
    assert.equal((await client.call("PUT", `${maps}/one`, edited)).status, 200);
    const apply = `${maps}/one?fieldManager=f8&force=true`;
    const applied = { ...map, data: { c: "4" } };
    const result = await client.call("PATCH", apply, applied, "application/apply-patch+yaml");
    assert.equal(result.status, 200);
    assert.equal((await client.call("DELETE", `${maps}/one`)).status, 200);
    const events = await watching.until((all) => all.at(-1)?.type === "DELETED");
    assert.deepEqual(
      events.map(({ type, object }) => [type, object["data"]]),
      [
        ["ADDED", { a: "1" }],
        ["MODIFIED", { a: "2" }],
        ["MODIFIED", { a: "2", b: "3" }],
        ["MODIFIED", { a: "2", b: "3", c: "4" }],
        ["DELETED", { a: "2", b: "3", c: "4" }],
      ],
    );
    assert.deepEqual(await watching.close(), Buffer.of(3, 0xe8));
  });

  test(`a custom resource is watched over WebSocket through ${door}`, async () => {
    const client = clientOf(port);
    const watching = await informer(client, widgets);
    const widget = { apiVersion: "x.example.com/v1", kind: "Widget", metadata: { name: "w" } };
    assert.equal((await client.call("POST", widgets, widget)).status, 201);
    assert.equal((await client.call("DELETE", `${widgets}/w`)).status, 200);
    const events = await watching.until((all) => all.at(-1)?.type === "DELETED");
    assert.deepEqual(
      events.map(({ type }) => type),
      ["ADDED", "DELETED"],
    );
    assert.deepEqual(await watching.close(), Buffer.of(3, 0xe8));
  });

  test(`a lease is taken and released, and an exec is refused with its reason, through ${door}`, async () => {
    const client = clientOf(port);
    const metadata = { name: "lock" };
    const holder = { holderIdentity: "me", leaseDurationSeconds: 15, leaseTransitions: 0 };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: holder };
    const taken = await client.call("POST", leases, lease);
    assert.equal(taken.status, 201);
    const released = { ...taken.body, spec: { ...holder, holderIdentity: "" } };
    assert.equal((await client.call("PUT", `${leases}/lock`, released)).status, 200);
    assert.equal((await client.call("DELETE", `${leases}/lock`)).status, 200);
    const running = await informer(client, pods, "&fieldSelector=metadata.name%3Dex");
    const containers = [{ name: "c", image: "nginx" }];
    await client.call("POST", pods, { metadata: { name: "ex" }, spec: { containers } });
    await running.until((all) =>
      all.some(({ object }) => (object["status"] as Conditions | undefined)?.phase === "Running"),
    );
    const exec = await client.socket(`${pods}/ex/exec?command=ls&stdout=true`, "v4.channel.k8s.io");
    assert.match(await exec.head(), /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(await exec.rest(), /there is no container to exec/);
    await client.call("DELETE", `${pods}/ex?gracePeriodSeconds=0`);
    const gone = await running.until((all) => all.at(-1)?.type === "DELETED");
    assert.equal(gone.at(-1)?.object.metadata?.deletionGracePeriodSeconds, 0);
    await running.close();
  });
}
