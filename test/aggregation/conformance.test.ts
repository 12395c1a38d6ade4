/**
 * [sig-api-machinery] Aggregator Should be able to support the 1.17 Sample API Server using the current
 * Aggregator [Conformance]: restated with a sample server of our own, a process of its own.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CustomObjectsApi, KubeConfig, Watch } from "@kubernetes/client-node";
import { bound } from "../process/bound-child.ts";
import { findKubectl, kubectlEnvironment, noKubectl } from "../process/harness.ts";
import {
  type AggregatedPlane,
  type Answer,
  apiServices,
  conditionIs,
  items,
  type Json,
  must,
  type SampleServer,
  startAggregatedPlane,
  startWardle,
  text,
  until,
} from "./aggregated-plane.ts";

const namespace = "sample-system";
const flunders = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const named = { group: "wardle.example.com", version: "v1alpha1" };
const name = "v1alpha1.wardle.example.com";
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

describe("Aggregator Should be able to support the 1.17 Sample API Server using the current Aggregator", () => {
  let world: AggregatedPlane;
  let sample: SampleServer;

  before(async () => {
    world = await startAggregatedPlane();
    sample = await startWardle(world, namespace);
    const condition = await conditionIs(world, name, "True", "Passed");
    assert.equal(condition["message"], "all checks passed");
  });

  after(async () => {
    await world.stop();
    await sample.kill();
  });

  const ask = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    world.ask(method, path, { body, headers });
  async function aggregatedVersion(): Promise<Json | undefined> {
    const { json } = await ask("GET", "/apis", undefined, { accept: aggregated });
    const group = items(json["items"]).find(
      (item) => text(item["metadata"]?.["name"]) === named.group,
    );
    return items(group?.["versions"])[0];
  }

  const flunder = (metadata: object, reference = "a") => ({
    apiVersion: "wardle.example.com/v1alpha1",
    kind: "Flunder",
    metadata,
    spec: { reference },
  });

  test("objects are created, read, listed, replaced, patched and deleted through the aggregator", async () => {
    const made = await ask("POST", flunders, flunder({ name: "one" }));
    assert.equal(made.status, 201, made.text);
    const read = await ask("GET", `${flunders}/one`);
    assert.equal(read.json["spec"]?.["reference"], "a");
    const replaced = await ask("PUT", `${flunders}/one`, flunder({ name: "one" }, "b"));
    assert.equal(replaced.json["spec"]?.["reference"], "b");
    const merge = { "content-type": "application/merge-patch+json" };
    const patched = await ask("PATCH", `${flunders}/one`, { spec: { reference: "c" } }, merge);
    assert.equal(patched.json["spec"]?.["reference"], "c");
    const list = await ask("GET", flunders);
    assert.deepEqual(
      items(list.json["items"]).map((item) => item["metadata"]?.["name"]),
      ["one"],
    );
    assert.equal((await ask("DELETE", `${flunders}/one`)).status, 200);
    assert.equal((await ask("GET", `${flunders}/one`)).json["reason"], "NotFound");
  });

  test("the sample server sees the proxy's certificate, the user, and the path as it was asked", async () => {
    const from = sample.seen.length;
    await ask("GET", `${flunders}?limit=500&labelSelector=a%3Db`, undefined, { "x-own": "kept" });
    const seen = sample.seen.slice(from).find(({ url }) => url.startsWith(flunders));
    assert.ok(seen);
    assert.equal(seen.proxy, "front-proxy-client");
    assert.equal(seen.url, `${flunders}?labelSelector=a%3Db&limit=500`);
    assert.deepEqual(seen.headers["x-remote-user"], ["kubernetes-admin"]);
    assert.deepEqual(seen.headers["x-remote-group"], ["system:masters", "system:authenticated"]);
    assert.deepEqual(seen.headers["host"], ["10.3.0.1:8443"]);
    assert.deepEqual(seen.headers["x-forwarded-uri"], [flunders]);
    assert.deepEqual(seen.headers["x-forwarded-for"], ["127.0.0.1"]);
    assert.deepEqual(seen.headers["x-own"], ["kept"]);
    assert.match(seen.headers["audit-id"]?.[0] ?? "", /^[\w-]+$/);
  });

  test("a watch streams what changes, and client-node reads it", async () => {
    const config = new KubeConfig();
    config.loadFromString(world.kubeconfig);
    const objects = config.makeApiClient(CustomObjectsApi);
    const at = { ...named, namespace: "default", plural: "flunders" };
    const seen: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const path = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
    const controller = await new Watch(config).watch(
      path,
      {},
      (type: string, object: { metadata: { name: string } }) => {
        seen.push(`${type} ${object.metadata.name}`);
        if (type === "DELETED") resolve();
      },
      () => {},
    );
    await objects.createNamespacedCustomObject({ ...at, body: flunder({ name: "two" }) });
    await objects.deleteNamespacedCustomObject({ ...at, name: "two" });
    await promise;
    controller.abort();
    assert.deepEqual(seen, ["ADDED two", "DELETED two"]);
  });

  test("discovery lists the group, plain and aggregated", async () => {
    const groups = items((await ask("GET", "/apis")).json["groups"]);
    const names = groups.map((group) => text(group["name"]));
    assert.ok(names.includes("wardle.example.com"));
    assert.equal(names[0], "apiregistration.k8s.io");
    const group = await ask("GET", "/apis/wardle.example.com");
    assert.equal(group.json["preferredVersion"]?.["version"], "v1alpha1");
    const resources = await ask("GET", "/apis/wardle.example.com/v1alpha1");
    assert.equal(items(resources.json["resources"])[0]?.["name"], "flunders");
    const found = await until(async () => {
      const one = await aggregatedVersion();
      return text(one?.["freshness"]) === "Current" ? one : undefined;
    }, "the aggregated document never listed the group");
    const [resource] = items(found["resources"]);
    assert.equal(resource?.["resource"], "flunders");
    assert.equal(items(resource?.["subresources"])[0]?.["subresource"], "echo");
  });

  test("OpenAPI of the group is merged: version 2 renamed where names clash, version 3 passed on", async () => {
    const v2 = await until(async () => {
      const { json } = await ask("GET", "/openapi/v2");
      return json["definitions"]?.["com.example.wardle.v1alpha1.Flunder"] === undefined
        ? undefined
        : json;
    }, "the version 2 document never had the kind");
    const path = "/apis/wardle.example.com/v1alpha1/namespaces/{namespace}/flunders/{name}";
    assert.ok(v2["paths"]?.[path]);
    const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    const definition = v2["definitions"]?.["com.example.wardle.v1alpha1.Flunder"];
    assert.equal(definition?.["properties"]?.["metadata"]?.["$ref"], `#/definitions/${meta}_v2`);
    assert.match(text(v2["definitions"]?.[meta]?.["description"]), /metadata that all persisted/);
    const own = v2["paths"]?.["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    assert.notEqual(own?.["get"]?.["description"], "taken over");
    const index = await ask("GET", "/openapi/v3");
    const url = index.json["paths"]?.["apis/wardle.example.com/v1alpha1"]?.["serverRelativeURL"];
    assert.equal(url, "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=AB12");
    const v3 = await ask("GET", text(url));
    assert.ok(v3.json["components"]?.["schemas"]?.["com.example.wardle.v1alpha1.Flunder"]);
    const again = await ask("GET", text(url), undefined, {
      "if-none-match": text(v3.headers["etag"]),
    });
    assert.equal(again.status, 304);
  });

  test("the sample server asks who may: a user without a role gets its 403, one with a role does not", async () => {
    const role = { rules: [{ apiGroups: [named.group], resources: ["flunders"], verbs: ["get"] }] };
    const as = { "impersonate-user": "jane", "impersonate-group": "system:authenticated" };
    const refused = await ask("GET", `${flunders}/none`, undefined, as);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /User .*jane.* cannot get resource/);
    const body = { metadata: { name: "flunder-reader" }, ...role };
    await must(ask("POST", `${rbac}/clusterroles`, body));
    const apiGroup = "rbac.authorization.k8s.io";
    const binding = {
      metadata: { name: "flunder-reader" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "flunder-reader" },
      subjects: [{ apiGroup, kind: "User", name: "jane" }],
    };
    await must(ask("POST", `${rbac}/clusterrolebindings`, binding));
    const allowed = await ask("GET", `${flunders}/none`, undefined, as);
    assert.equal(allowed.json["reason"], "NotFound");
  });

  test("who comes to the sample server without the proxy's certificate is nobody, whatever X-Remote-User says", async () => {
    const { request } = await import("node:https");
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const headers = { "x-remote-user": "admin", "x-remote-group": "system:masters" };
    const at = { host: "127.0.0.1", port: sample.port, path: flunders, headers };
    request({ ...at, rejectUnauthorized: false }, (response) => {
      resolve(response.resume().statusCode ?? 0);
    })
      .on("error", reject)
      .end();
    assert.equal(await promise, 401);
  });

  test("an upgrade leads through: bytes both ways", async () => {
    const socket = world.socket();
    const head = ["GET " + flunders + "/x/echo HTTP/1.1", "host: x", "connection: Upgrade"];
    socket.write([...head, "upgrade: SPDY/3.1", "", "hello"].join("\r\n"));
    let got = "";
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on("data", (chunk: Buffer) => {
      got += chunk.toString("latin1");
      if (got.includes("\r\n\r\n") && !got.endsWith("ping")) socket.write("ping");
      if (got.endsWith("ping")) resolve();
    });
    await promise;
    assert.match(got, /^HTTP\/1.1 101 /);
    socket.destroy();
  });

  test("a namespace that is deleted takes its aggregated objects along", async () => {
    const inside = "/apis/wardle.example.com/v1alpha1/namespaces/gone/flunders";
    await must(ask("POST", "/api/v1/namespaces", { metadata: { name: "gone" } }));
    await must(ask("POST", inside, flunder({ name: "inner" })));
    await must(ask("DELETE", "/api/v1/namespaces/gone"));
    await until(async () => {
      const { status } = await ask("GET", "/api/v1/namespaces/gone");
      return status === 404 ? true : undefined;
    }, "the namespace stayed");
    assert.equal((await ask("GET", `${inside}/inner`)).status, 404);
  });

  describe("kubectl", { skip: findKubectl() === undefined ? noKubectl : false }, () => {
    let environment: NodeJS.ProcessEnv;

    before(() => {
      const kubeconfig = join(world.scratch, "kubeconfig");
      writeFileSync(kubeconfig, world.kubeconfig);
      environment = kubectlEnvironment(kubeconfig, world.scratch);
    });

    /** The plane is in this process: nothing may wait for kubectl synchronously. */
    async function kubectl(args: string, input = ""): Promise<string> {
      const child = bound(spawn(findKubectl() ?? "", args.split(" "), { env: environment }));
      let out = "";
      let problems = "";
      child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (problems += chunk.toString()));
      child.stdin.end(input);
      const [code] = (await once(child, "close")) as [number];
      assert.equal(code, 0, `kubectl ${args}: ${problems}`);
      return out;
    }

    test("finds the kind, creates, gets, explains and deletes it", async () => {
      const list = await kubectl("api-resources");
      assert.match(list, /flunders +fl +wardle\.example\.com\/v1alpha1 +true/);
      await kubectl("create -f -", JSON.stringify(flunder({ name: "three" })));
      const names = await kubectl("get flunders.v1alpha1.wardle.example.com -o name");
      assert.equal(names.trim(), "flunder.wardle.example.com/three");
      assert.equal(await kubectl("get fl three -o jsonpath={.spec.reference}"), "a");
      const explained = await kubectl("explain flunder.spec.reference");
      assert.match(explained, /The name of another Flunder/);
      const service = await kubectl("get apiservice v1alpha1.wardle.example.com");
      assert.match(service, /sample-system\/wardle +True/);
      await kubectl("delete flunder three --wait=false");
      assert.equal((await kubectl("get flunders -o name")).trim(), "");
    });
  });

  test("an APIService whose server has died is not available, its path answers 503 in plain text, and its list is stale", async () => {
    await sample.kill();
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/wardle`;
    const merge = { "content-type": "application/merge-patch+json" };
    await must(ask("PATCH", slices, { metadata: { annotations: { a: "b" } } }, merge));
    const condition = await conditionIs(world, name, "False", "FailedDiscoveryCheck");
    const message = text(condition["message"]);
    assert.match(message, /^failing or missing response from https:\/\/10\.3\.0\.1:8443\/apis\//);
    assert.match(message, /connect: connection refused$/);
    const answer = await ask("GET", flunders);
    assert.equal(answer.status, 503);
    assert.equal(answer.text, "service unavailable\n");
    assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
    await until(async () => {
      const one = await aggregatedVersion();
      return text(one?.["freshness"]) === "Stale" ? one : undefined;
    }, "the aggregated document never said Stale");
    const page = await ask("GET", "/metrics");
    assert.match(
      page.text,
      /^aggregator_unavailable_apiservice\{name="v1alpha1\.wardle\.example\.com"\} 1$/m,
    );
  });

  test("a deleted APIService leaves nothing behind: path, discovery and OpenAPI", async () => {
    await must(ask("DELETE", `${apiServices}/${name}`));
    assert.equal((await ask("GET", flunders)).status, 404);
    assert.equal((await ask("GET", "/apis/wardle.example.com")).status, 404);
    const { json } = await ask("GET", "/openapi/v2");
    assert.equal(json["definitions"]?.["com.example.wardle.v1alpha1.Flunder"], undefined);
  });
});
