/** The conformance behaviours of admission webhooks, by upstream's names ([sig-api-machinery] AdmissionWebhook). */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hostAuthorities, hostsTransport } from "#platform/node/http/http-hosts.ts";
import { allow, deny, patch } from "#extension/testing/webhook-server.ts";
import {
  configMap,
  configuration,
  openWebhookWorld,
  pathOf,
  pod,
  registration,
  rule,
  type WebhookWorld,
} from "./webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";

describe("AdmissionWebhook", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
    await world.create("/api/v1/namespaces/default/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" },
    });
  });
  after(() => world.stop());

  test("should be able to deny pod and configmap creation", async () => {
    world.hooks.on("/deny", deny("the pod contains unwanted label"));
    await world.register("validating", "deny", "/deny", { rules: [rule(["pods", "configmaps"])] });
    const answers = [
      await world.create(pods, pod("denied")),
      await world.create(maps, configMap("denied")),
      await world.ask("PATCH", `${maps}/kube-root-ca.crt`, {
        body: { data: { a: "b" } },
        type: "application/merge-patch+json",
      }),
    ];
    await world.unregister("validating", "deny");
    const text =
      'admission webhook "deny.example.com" denied the request: the pod contains unwanted label';
    for (const answer of answers.slice(0, 2)) {
      assert.equal(answer.status, 400);
      assert.equal(answer.json["message"], text);
      assert.equal(answer.json["reason"], "the-reason");
    }
    assert.equal((await world.create(maps, configMap("denied"))).status, 201);
  });

  test("should reject validating webhook configurations with invalid match conditions", async () => {
    const matchConditions = [{ name: "c", expression: "object.spec.x == " }];
    const clientConfig = { url: world.hooks.url("/deny"), caBundle: world.hooks.caBundle };
    const body = configuration("validating", "invalid", { clientConfig, matchConditions });
    const answer = await world.create(`${registration}/${pathOf("validating")}`, body);
    assert.equal(answer.status, 422);
    assert.match(
      answer.text,
      /matchConditions\[0\]\.expression: Invalid value: .*compilation failed: ERROR/,
    );
  });

  test("should be able to create and update validating webhook configurations with match conditions", async () => {
    world.hooks.on("/deny", deny("matched"));
    const matchConditions = [
      { name: "skip", expression: "!object.metadata.name.startsWith('skip')" },
      { name: "access", expression: "authorizer.requestResource.check('get').allowed()" },
      { name: "data", expression: "object.data.a == 'b'" },
    ];
    const asked = async (name: string, data: object): Promise<number> =>
      (await world.create(`${maps}?dryRun=All`, configMap(name, data))).status;
    await world.register("validating", "some", "/deny", { matchConditions });
    assert.equal(await asked("matched", { a: "b" }), 400);
    assert.equal(await asked("skipped", {}), 201, "a false condition wins over one that fails");
    assert.equal(await asked("unmatched", { a: "c" }), 201);
    assert.equal(await asked("failing", { c: "d" }), 403);
    await world.unregister("validating", "some");
    const ignore = { matchConditions, failurePolicy: "Ignore" };
    await world.register("validating", "some", "/deny", ignore);
    assert.equal(await asked("failing", { c: "d" }), 201, "the failure may be ignored");
    await world.unregister("validating", "some");
  });

  test("should unconditionally reject operations on fail closed webhook", async () => {
    await world.register("validating", "closed", "/x", {
      clientConfig: { url: "https://127.0.0.1:1/x", caBundle: world.hooks.caBundle },
    });
    const answer = await world.create(maps, configMap("closed"));
    await world.unregister("validating", "closed");
    assert.equal(answer.status, 500);
    assert.equal(
      answer.json["message"],
      'Internal error occurred: failed calling webhook "closed.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });

  test("should mutate configmap", async () => {
    world.hooks.on("/first", patch({ op: "add", path: "/data/first", value: "yes" }));
    world.hooks.on("/second", ({ object }) =>
      patch({
        op: "add",
        path: "/data/second",
        value: JSON.stringify((object as { data?: object }).data),
      })({} as never),
    );
    await world.register("mutating", "a-first", "/first");
    await world.register("mutating", "b-second", "/second");
    const answer = await world.create(maps, configMap("mutated", { start: "yes" }));
    await world.unregister("mutating", "a-first");
    await world.unregister("mutating", "b-second");
    assert.deepEqual(answer.json["data"], {
      start: "yes",
      first: "yes",
      second: '{"start":"yes","first":"yes"}',
    });
  });

  test("should mutate pod and apply defaults after mutation", async () => {
    const container = { name: "added", image: "webhook-added-image" };
    world.hooks.on("/pod", patch({ op: "add", path: "/spec/initContainers", value: [container] }));
    await world.register("mutating", "pods", "/pod", { rules: [rule(["pods"])] });
    const answer = await world.create(pods, pod("mutated"));
    await world.unregister("mutating", "pods");
    assert.equal(answer.status, 201, answer.text);
    const { initContainers = [] } = answer.json["spec"] as { initContainers?: Container[] };
    assert.equal(initContainers[0]?.image, "webhook-added-image");
    assert.equal(initContainers[0]?.terminationMessagePolicy, "File");
    assert.equal(initContainers[0]?.imagePullPolicy, "Always");
  });

  test("should honor timeout", async () => {
    world.hooks.raw("/slow", () => {});
    const hook = { timeoutSeconds: 1, rules: [rule(["configmaps"])] };
    await world.register("validating", "slow", "/slow", hook);
    const failed = await world.create(maps, configMap("slow"));
    await world.unregister("validating", "slow");
    assert.equal(failed.status, 500);
    assert.match(String(failed.json["message"]), /\?timeout=1s": context deadline exceeded$/);
    await world.register("validating", "slow", "/slow", { ...hook, failurePolicy: "Ignore" });
    const ignored = await world.create(maps, configMap("slow"));
    await world.unregister("validating", "slow");
    assert.equal(ignored.status, 201);
  });

  test("should not be able to mutate or prevent deletion of webhook configuration objects", async () => {
    world.hooks.on("/all", deny("nothing goes"));
    const rules = [
      {
        operations: ["*"],
        apiGroups: ["admissionregistration.k8s.io"],
        apiVersions: ["*"],
        resources: ["*"],
      },
    ];
    await world.register("validating", "all-v", "/all", { rules });
    await world.register("mutating", "all-m", "/all", { rules });
    await world.register("mutating", "dummy", "/all", { rules });
    const gone = await world.ask("DELETE", `${registration}/${pathOf("mutating")}/dummy`);
    assert.equal(gone.status, 200);
    await world.unregister("mutating", "all-m");
    await world.unregister("validating", "all-v");
    assert.equal(
      world.hooks.asked.filter(({ object }) => object?.kind?.includes("Webhook")).length,
      0,
    );
  });

  test("should include webhook resources in discovery documents", async () => {
    const { json } = await world.ask("GET", registration);
    const names = (json["resources"] as readonly { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes(pathOf("mutating")) && names.includes(pathOf("validating")));
  });

  for (const type of ["mutating", "validating"] as const) {
    test(`patching/updating a ${type} webhook should work`, async () => {
      world.hooks.on("/refuse", deny("no"));
      await world.register(type, "patched", "/refuse");
      const at = `${registration}/${pathOf(type)}/patched`;
      const rules = (operations: readonly string[]) => [
        { op: "replace", path: "/webhooks/0/rules/0/operations", value: operations },
      ];
      const json = "application/json-patch+json";
      assert.equal((await world.create(maps, configMap("patching"))).status, 400);
      assert.equal(
        (await world.ask("PATCH", at, { body: rules(["UPDATE"]), type: json })).status,
        200,
      );
      assert.equal((await world.create(maps, configMap(`patching-${type}`))).status, 201);
      assert.equal(
        (await world.ask("PATCH", at, { body: rules(["CREATE"]), type: json })).status,
        200,
      );
      assert.equal((await world.create(maps, configMap("patching"))).status, 400);
      await world.unregister(type, "patched");
    });

    test(`listing ${type} webhooks should work`, async () => {
      world.hooks.on("/refuse", deny("no"));
      const labels = {
        body: { metadata: { labels: { of: "list" } } },
        type: "application/merge-patch+json",
      };
      for (const name of ["list-a", "list-b"]) {
        await world.register(type, name, "/refuse");
        await world.ask("PATCH", `${registration}/${pathOf(type)}/${name}`, labels);
      }
      const path = `${registration}/${pathOf(type)}?labelSelector=of%3Dlist`;
      const listed = (await world.ask("GET", path)).json as { items?: readonly object[] };
      assert.equal(listed.items?.length, 2);
      assert.equal((await world.create(maps, configMap("listing"))).status, 400);
      await world.ask("DELETE", path);
      assert.equal((await world.create(maps, configMap(`listing-${type}`))).status, 201);
    });
  }

  test("should be able to deny attaching pod", async () => {
    world.hooks.on("/attach", deny("attaching to pod 'to-be-attached-pod' is not allowed"));
    await world.register("validating", "attach", "/attach", {
      rules: [rule(["pods/attach"], { operations: ["CONNECT"] })],
    });
    await world.create(pods, pod("attached"));
    const answer = await world.ask("POST", `${pods}/attached/attach?stdin=true&container=c`);
    await world.unregister("validating", "attach");
    assert.equal(answer.status, 400);
    assert.match(String(answer.json["message"]), /denied the request: attaching to pod/);
    const asked = world.hooks.asked.at(-1);
    assert.deepEqual(asked?.["kind"], { group: "", version: "v1", kind: "PodAttachOptions" });
    assert.deepEqual(asked?.object, {
      kind: "PodAttachOptions",
      apiVersion: "v1",
      stdin: true,
      container: "c",
    });
  });

  test("a webhook may refuse a deletion, and sees the object that would go", async () => {
    await world.create(maps, configMap("kept", { a: "b" }));
    for (const type of ["mutating", "validating"] as const) {
      world.hooks.on("/delete", deny("stays"));
      await world.register(type, "delete", "/delete", {
        rules: [rule(["configmaps"], { operations: ["DELETE"] })],
      });
      const refused = await world.ask("DELETE", `${maps}/kept`);
      await world.unregister(type, "delete");
      assert.equal(
        refused.json["message"],
        'admission webhook "delete.example.com" denied the request: stays',
      );
      const asked = world.hooks.asked.at(-1);
      assert.equal(asked?.object, null);
      assert.deepEqual(asked?.oldObject?.["data"], { a: "b" });
    }
  });

  test("the question says who, what and how", async () => {
    world.hooks.on("/ok", allow);
    await world.register("validating", "ok", "/ok");
    await world.ask("POST", `${maps}?dryRun=All&fieldManager=me`, { body: configMap("asked") });
    await world.unregister("validating", "ok");
    const { uid, object, userInfo, ...rest } = world.hooks.asked.at(-1) ?? ({} as never);
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(object?.metadata?.name, "asked");
    assert.equal((userInfo as { username: string }).username, "kubernetes-admin");
    assert.deepEqual(rest, {
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      requestResource: { group: "", version: "v1", resource: "configmaps" },
      name: "asked",
      namespace: "default",
      operation: "CREATE",
      oldObject: null,
      dryRun: true,
      options: {
        kind: "CreateOptions",
        apiVersion: "meta.k8s.io/v1",
        dryRun: ["All"],
        fieldManager: "me",
      },
    });
  });

  test("with matchPolicy Equivalent a webhook gets the version it knows, whatever was sent", async () => {
    world.hooks.on("/v2", allow);
    const rules = [
      { operations: ["CREATE"], apiGroups: ["autoscaling"], apiVersions: ["v2"], resources: ["*"] },
    ];
    await world.register("validating", "v2", "/v2", { rules });
    const spec = {
      scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    };
    const scaler = { apiVersion: "autoscaling/v1", kind: "HorizontalPodAutoscaler", spec };
    const body = { ...scaler, metadata: { name: "a" } };
    const path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    const answer = await world.create(path, body);
    await world.unregister("validating", "v2");
    assert.equal(answer.status, 201, answer.text);
    const asked = world.hooks.asked.at(-1);
    assert.equal(asked?.object?.apiVersion, "autoscaling/v2");
    assert.deepEqual(asked?.["requestKind"], {
      group: "autoscaling",
      version: "v1",
      kind: "HorizontalPodAutoscaler",
    });
    await world.register("validating", "v2", "/v2", { rules, matchPolicy: "Exact" });
    const before = world.hooks.asked.length;
    await world.create(path, { ...body, metadata: { name: "b" } });
    await world.unregister("validating", "v2");
    assert.equal(world.hooks.asked.length, before);
  });

  test("a webhook with reinvocationPolicy IfNeeded is asked once more when a later one changed the object", async () => {
    const rounds: string[] = [];
    world.hooks.on("/early", ({ object }) => {
      rounds.push(Object.keys((object as { data?: object }).data ?? {}).join());
      return { allowed: true };
    });
    world.hooks.on("/late", patch({ op: "add", path: "/data/late", value: "x" }));
    await world.register("mutating", "a-early", "/early", { reinvocationPolicy: "IfNeeded" });
    await world.register("mutating", "b-late", "/late");
    await world.create(maps, configMap("twice", { start: "x" }));
    await world.unregister("mutating", "a-early");
    await world.unregister("mutating", "b-late");
    assert.deepEqual(rounds, ["start", "start,late"]);
  });

  test("warnings and scale: a webhook on deployments/scale gets a Scale, and its warning reaches the client", async () => {
    world.hooks.on("/scale", () => ({ allowed: true, warnings: ["so many"] }));
    const rules = [
      {
        operations: ["UPDATE"],
        apiGroups: ["apps"],
        apiVersions: ["v1"],
        resources: ["deployments/scale"],
      },
    ];
    const template = {
      metadata: { labels: { a: "b" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    await world.create("/apis/apps/v1/namespaces/default/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: { selector: { matchLabels: { a: "b" } }, template },
    });
    await world.register("validating", "scale", "/scale", { rules });
    const answer = await world.ask(
      "PATCH",
      "/apis/apps/v1/namespaces/default/deployments/d/scale",
      {
        body: { spec: { replicas: 5 } },
        type: "application/merge-patch+json",
      },
    );
    await world.unregister("validating", "scale");
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.warnings, /so many/);
    const asked = world.hooks.asked.at(-1);
    assert.equal(asked?.object?.kind, "Scale");
    assert.deepEqual(asked?.object?.["spec"], { replicas: 5 });
    assert.deepEqual(asked?.oldObject?.["spec"], { replicas: 1 });
  });

  test("the path of a URL is joined to its root as client-go does, and escaped anew", async () => {
    const asked: string[] = [];
    for (const path of ["/", "/x", "/a/b", "/x%20y", "/%21%27"])
      world.hooks.on(path, () => {
        asked.push(path);
        return { allowed: true };
      });
    const spellings = {
      "/": ["", "/", "//", "/.", "/a/.."],
      "/x": ["/x", "//x", "/x/", "/x//", "/./x", "/a/../x", "/../x", "/%2Fx", "/%2e%2e/x"],
      "/a/b": ["/a//b/", "/a%2Fb", "/a/c/../b"],
      "/x%20y": ["/x%20y", "//x%20y/"],
      "/%21%27": ["/!'", "/%21%27"],
    };
    for (const [path, urls] of Object.entries(spellings)) {
      for (const url of urls) {
        await world.register("validating", "path", url);
        const made = await world.create(`${maps}?dryRun=All`, configMap("path"));
        await world.unregister("validating", "path");
        assert.equal(made.status, 201, `${url}: ${made.text}`);
        assert.equal(asked.pop(), path, url);
      }
    }
  });

  test("connections are kept: a hundred questions need few", async () => {
    world.hooks.on("/ok", allow);
    await world.register("validating", "kept", "/ok");
    await world.create(maps, configMap("many-first"));
    const before = world.hooks.connections();
    for (let at = 0; at < 20; at++) await world.create(maps, configMap(`many-${at}`));
    await world.unregister("validating", "kept");
    assert.ok(world.hooks.connections() - before <= 1, "no connection per question");
  });
});

describe("AdmissionWebhook by Service", () => {
  let world: WebhookWorld;
  const dialled: (string | undefined)[] = [];
  before(async () => {
    // No endpoint may have an address of loopback, so the way there is bent at the last step.
    world = await openWebhookWorld({
      webhooks: ({ ca = hostAuthorities }) => {
        const limits = { connectMs: 5_000, headBytesMax: 65_536, idleSocketsMax: 4 };
        const transport = hostsTransport({ credentials: () => ({ ca }), limits });
        return {
          ...transport,
          send: (host, request) => {
            dialled.push(host.address);
            return transport.send({ ...host, address: "127.0.0.1" }, request);
          },
        };
      },
    });
  });
  after(() => world.stop());

  test("a Service without selector leads to the endpoints of slices made by hand, under its own name", async () => {
    world.hooks.on("/by-service", deny("asked by Service"));
    const service = { namespace: "hooks", name: "webhook", path: "/by-service", port: 8443 };
    const clientConfig = { service, caBundle: world.hooks.caBundle };
    await world.register("validating", "service", "/by-service", { clientConfig });
    const failed = await world.create(maps, configMap("by-service"));
    assert.equal(
      failed.json["message"],
      'Internal error occurred: failed calling webhook "service.example.com": failed to call webhook: Post "https://webhook.hooks.svc:8443/by-service?timeout=10s": service "webhook" not found',
    );
    const metadata = { name: "webhook", namespace: "hooks" };
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "hooks" } };
    assert.equal((await world.create("/api/v1/namespaces", namespace)).status, 201);
    const ports = [{ name: "https", port: 8443 }];
    const made = await world.create("/api/v1/namespaces/hooks/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { ports },
    });
    assert.equal(made.status, 201, made.text);
    const slices = "/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices";
    const sliced = await world.create(slices, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": "webhook" } },
      addressType: "IPv4",
      ports: [{ name: "https", port: world.hooks.port }],
      endpoints: [{ addresses: ["10.1.2.3"] }],
    });
    assert.equal(sliced.status, 201, sliced.text);
    const denied = await world.create(maps, configMap("by-service"));
    assert.equal(
      denied.json["message"],
      'admission webhook "service.example.com" denied the request: asked by Service',
    );
    assert.deepEqual(dialled, ["10.1.2.3"]);
  });
});

interface Container {
  readonly image?: string;
  readonly terminationMessagePolicy?: string;
  readonly imagePullPolicy?: string;
}
