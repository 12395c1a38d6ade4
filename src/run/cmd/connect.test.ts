/** The client library against a plane of our own, in process and over sockets. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse, stringify } from "yaml";
import type { ConfigMap, Role, RoleBinding } from "#api/gen/types.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { createInformer, type Informer } from "#client/informer.ts";
import { connect, toolsFor, type Connection, type Tools } from "./connect.ts";
import { startControlPlane, type ControlPlane } from "./embed.ts";

const configMaps = { group: "", version: "v1", resource: "configmaps" };
const accounts = { group: "", version: "v1", resource: "serviceaccounts" };
const rbac = { group: "rbac.authorization.k8s.io", version: "v1" };
const directory = mkdtempSync(join(tmpdir(), "pilothouse-connect-"));
const file = join(directory, "kubeconfig");
let plane: ControlPlane;
let connection: Connection;

before(async () => {
  plane = await startControlPlane({ nodes: 0 });
  writeFileSync(file, plane.kubeconfig, { mode: 0o600 });
  connection = await connect({ kubeconfig: file });
});
after(async () => {
  connection.close();
  await plane.stop();
  rmSync(directory, { recursive: true });
});

const transports: readonly (readonly [string, () => Promise<Tools & { close?(): void }>])[] = [
  ["in process", () => Promise.resolve(toolsFor(plane.client))],
  ["over sockets", () => connect({ kubeconfig: file })],
  ["in protobuf", () => connect({ kubeconfig: file, encoding: "protobuf" })],
];

for (const [name, open] of transports) {
  test(`an informer of metadata holds metadata alone, of lists and of events, ${name}`, async () => {
    const tools = await open();
    const stop = new AbortController();
    const label = `meta-${name.replace(/ /g, "-")}`;
    const metadata = (part: string) => ({ name: `${label}-${part}`, labels: { of: label } });
    const data = { secret: "of some size" };
    await tools.client.create<ConfigMap>(configMaps, "default", { metadata: metadata("a"), data });
    const selection = { namespace: "default", labelSelector: `of=${label}`, metadataOnly: true };
    const informer = tools.informers.informer<KubeObject>(configMaps, selection);
    const running = tools.informers.run(stop.signal);
    await informer.synced;
    await tools.client.create<ConfigMap>(configMaps, "default", { metadata: metadata("b"), data });
    await untilHeld(informer, () => informer.size === 2);
    for (const object of informer.values()) {
      assert.deepEqual(Object.keys(object).toSorted(), ["apiVersion", "kind", "metadata"]);
      assert.equal(object.kind, "PartialObjectMetadata");
      assert.equal(object.metadata?.labels?.["of"], label);
    }
    stop.abort();
    await running;
    tools.close?.();
  });
}

test("one informer over two namespaces needs rights in these two only", async () => {
  await mayRead("reader", ["default", "kube-public"]);
  const users = [{ name: "reader", user: { token: await tokenOf("reader") } }];
  const config = parse(plane.kubeconfig) as KubeConfigText;
  const contexts = config.contexts.map(({ name, context }) => {
    return { name, context: { ...context, user: "reader" } };
  });
  const path = join(directory, "reader");
  writeFileSync(path, stringify({ ...config, users, contexts }), { mode: 0o600 });
  const reader = await connect({ kubeconfig: path });
  await assert.rejects(reader.client.list(configMaps, {}), /forbidden/);
  const informer = reader.informers.inNamespaces<ConfigMap>(configMaps);
  informer.addNamespace("default");
  const stop = new AbortController();
  const running = reader.informers.run(stop.signal);
  await informer.synced;
  informer.addNamespace("kube-public");
  await connection.client.create(configMaps, "kube-public", { metadata: { name: "seen" } });
  await untilHeld(informer, () => informer.get("kube-public", "seen") !== undefined);
  stop.abort();
  await running;
  reader.close();
});

interface KubeConfigText {
  readonly contexts: readonly { readonly name: string; readonly context: object }[];
}

for (const [name, open] of transports) {
  test(`an informer takes its first state from the watch and lists nothing, ${name}`, async () => {
    const tools = await open();
    const list: Client["list"] = () => Promise.reject(new Error("listed"));
    const watch: Client["watch"] = (...args) => tools.client.watch(...args);
    const client = { list, watch } as Client; // the verbs that an informer uses
    const stop = new AbortController();
    const selection = { ref: configMaps, namespace: "kube-system", watchList: true };
    const informer = createInformer<ConfigMap>({ ...tools, client }, selection);
    const running = informer.run(stop.signal);
    await informer.synced;
    const listed = await tools.client.list<ConfigMap>(configMaps, { namespace: "kube-system" });
    assert.ok(listed.items.length > 0);
    const names = (objects: readonly ConfigMap[]) => objects.map((o) => o.metadata?.name);
    assert.deepEqual(names(informer.list()).toSorted(), names(listed.items).toSorted());
    stop.abort();
    await running;
    tools.close?.();
  });
}

test("a copy in protobuf has the objects of a copy in JSON, after a list, a change and a deletion", async () => {
  const coded = await connect({ kubeconfig: file, encoding: "protobuf" });
  const stop = new AbortController();
  const selection = { labelSelector: "of=copies" };
  const copies = [
    connection.informers.informer<ConfigMap>(configMaps, selection),
    coded.informers.informer<ConfigMap>(configMaps, selection),
    coded.informers.informer<ConfigMap>(configMaps, { ...selection, watchList: true }),
    coded.informers.informer<ConfigMap>(configMaps, { ...selection, keepsDecoded: true }),
  ] as const;
  const metadata = (name: string) => ({ name, labels: { of: "copies" } });
  await coded.client.create<ConfigMap>(configMaps, "default", {
    metadata: metadata("copied-1"),
    data: { key: "value", text: "ü€😀\u0000" },
    binaryData: { bytes: "AAEC" },
  });
  const running = [connection, coded].map(({ informers }) => informers.run(stop.signal));
  await Promise.all(copies.map(({ synced }) => synced));
  const { client } = coded;
  const second = await client.create<ConfigMap>(configMaps, "default", {
    metadata: metadata("copied-2"),
  });
  await client.update<ConfigMap>(configMaps, "default", { ...second, data: { changed: "yes" } });
  await client.patch(configMaps, "default", "copied-1", "merge", { immutable: true });
  await client.create<ConfigMap>(configMaps, "default", { metadata: metadata("copied-3") });
  await client.delete(configMaps, "default", "copied-3", { preconditions: {} });
  await client.create<ConfigMap>(configMaps, "default", { metadata: metadata("copied-4") });
  const hasAll = ({ size, get }: { size: number; get: Informer<ConfigMap>["get"] }): boolean =>
    size === 3 && get("default", "copied-4") !== undefined;
  await Promise.all(
    copies.map((copy) =>
      untilHeld(copy, () => hasAll({ size: copy.size, get: (...key) => copy.get(...key) })),
    ),
  );
  const [json, ...others] = copies.map((copy) => copy.list().toSorted(byName));
  for (const other of others) assert.deepEqual(other, json);
  assert.equal(json?.[1]?.data?.["changed"], "yes");
  stop.abort();
  await Promise.all(running);
  coded.close();
});

function byName(a: KubeObject, b: KubeObject): number {
  return (a.metadata?.name ?? "").localeCompare(b.metadata?.name ?? "");
}

test("in protobuf a refusal is the server's, and a custom resource stays JSON", async () => {
  const coded = await connect({ kubeconfig: file, encoding: "protobuf" });
  const { client } = coded;
  await assert.rejects(client.get(configMaps, "default", "absent"), (error: Error) => {
    assert.match(error.message, /configmaps "absent" not found/);
    return (error as Error & { reason?: string }).reason === "NotFound";
  });
  const invalid = { metadata: { name: "Wrong_Name" } };
  await assert.rejects(
    client.create(configMaps, "default", invalid),
    /a lowercase RFC 1123 subdomain/,
  );
  const definitions = {
    group: "apiextensions.k8s.io",
    version: "v1",
    resource: "customresourcedefinitions",
  };
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  await client.create<AnyObject>(definitions, "", {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  const widgets = { group: "example.com", version: "v1", resource: "widgets" };
  const informer = coded.informers.informer<AnyObject>(widgets);
  const stop = new AbortController();
  const running = coded.informers.run(stop.signal);
  await informer.synced;
  const widget = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w" },
    free: [1],
  };
  await client.create<AnyObject>(widgets, "default", widget);
  await untilHeld(informer, () => informer.size === 1);
  assert.deepEqual(informer.get("default", "w")?.["free"], [1]);
  stop.abort();
  await running;
  coded.close();
});

/** Makes an account of the default namespace that reads config maps in `namespaces`. */
async function mayRead(account: string, namespaces: readonly string[]): Promise<void> {
  const metadata = { name: account };
  await connection.client.create(accounts, "default", { metadata });
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }];
  const roleRef = { apiGroup: rbac.group, kind: "Role", name: account };
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: "default" }];
  for (const namespace of namespaces) {
    const roles = { ...rbac, resource: "roles" };
    const bindings = { ...rbac, resource: "rolebindings" };
    await connection.client.create<Role>(roles, namespace, { metadata, rules });
    await connection.client.create<RoleBinding>(bindings, namespace, {
      metadata,
      roleRef,
      subjects,
    });
  }
}

async function tokenOf(account: string): Promise<string> {
  const request: AnyObject = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" };
  const answer = await connection.client.createSub(accounts, "default", account, "token", {
    ...request,
    spec: {},
  });
  return (answer["status"] as { readonly token: string }).token;
}

/** Resolves after the batch that makes `isDone` true. */
function untilHeld<T extends KubeObject>(
  informer: Informer<T>,
  isDone: () => boolean,
): Promise<void> {
  const held = Promise.withResolvers<void>();
  const look = (): void => {
    if (isDone()) held.resolve();
  };
  const remove = informer.addHandler({ batch: look });
  look();
  return held.promise.finally(remove);
}
