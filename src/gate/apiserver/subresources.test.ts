/** What is asked of a part of an object, or stores nothing: binding, eviction, scale, logs, reviews. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, pod, pods, statusOf, withPlane } from "./testing/plane.ts";

test("a pod is bound once", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "a", annotations: { by: "test" } },
      target: { kind: "Node", name: "n1" },
    };
    const done = await ask(plane, "POST", `${pods}/a/binding`, { body: binding });
    assert.equal(done.status, 201, done.text);
    assert.equal(statusOf(done).status, "Success");
    const read = await ask(plane, "GET", `${pods}/a`);
    assert.equal((read.json["spec"] as { nodeName?: string }).nodeName, "n1");
    assert.equal(read.json.metadata?.annotations?.["by"], "test");
    const conditions = (read.json["status"] as { conditions: { type: string; status: string }[] })
      .conditions;
    assert.ok(conditions.some((c) => c.type === "PodScheduled" && c.status === "True"));
    const again = await ask(plane, "POST", `${pods}/a/binding`, { body: binding });
    assert.equal(
      statusOf(again).message,
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
    );
  }));

test("a binding clears the node that was nominated, and leaves the other conditions in their places", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const [first, last] = ["a.example.com/first", "b.example.com/last"].map((type) => ({
      type,
      status: "True",
    }));
    const waiting = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
    const status = { nominatedNodeName: "n2", conditions: [first, waiting, last] };
    const type = "application/merge-patch+json";
    const patched = await ask(plane, "PATCH", `${pods}/a/status`, { type, body: { status } });
    assert.equal((patched.json["status"] as typeof status).nominatedNodeName, "n2", patched.text);
    const binding = { metadata: { name: "a" }, target: { kind: "Node", name: "n1" } };
    const dry = await ask(plane, "POST", `${pods}/a/binding?dryRun=All`, { body: binding });
    assert.equal(dry.status, 201, dry.text);
    const before = (await ask(plane, "GET", `${pods}/a`)).json["status"] as typeof status;
    assert.equal(before.nominatedNodeName, "n2");
    await ask(plane, "POST", `${pods}/a/binding`, { body: binding });
    const bound = (await ask(plane, "GET", `${pods}/a`)).json["status"] as typeof status;
    assert.equal(bound.nominatedNodeName, undefined);
    assert.deepEqual(
      bound.conditions.map((one) => [one?.type, one?.status]),
      [
        ["a.example.com/first", "True"],
        ["PodScheduled", "True"],
        ["b.example.com/last", "True"],
      ],
    );
  }));

test("an eviction is a dry run by either its query or its deleteOptions", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const evict = async (query: string, deleteOptions: object): Promise<void> => {
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" } };
      const body = { ...eviction, deleteOptions };
      const done = await ask(plane, "POST", `${pods}/a/eviction${query}`, { body });
      assert.equal(done.status, 201, done.text);
    };
    await evict("?dryRun=All", { gracePeriodSeconds: 0 });
    await evict("", { gracePeriodSeconds: 0, dryRun: ["All"] });
    const read = await ask(plane, "GET", `${pods}/a`);
    assert.equal(read.status, 200, read.text);
    assert.equal(read.json.metadata?.deletionTimestamp, undefined);
  }));

test("eviction says in the pod's status why it goes, and a dry run says nothing", () =>
  withPlane(async (plane) => {
    const held = pod("a", { finalizers: ["example.com/hold"] });
    await ask(plane, "POST", pods, { body: held });
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" } };
    const targets = async (): Promise<unknown> => {
      const { status } = (await ask(plane, "GET", `${pods}/a`)).json;
      const { conditions = [] } = (status ?? {}) as { conditions?: Record<string, string>[] };
      return conditions
        .filter(({ type }) => type === "DisruptionTarget")
        .map(({ lastTransitionTime, ...rest }) => [rest, lastTransitionTime !== undefined]);
    };
    await ask(plane, "POST", `${pods}/a/eviction?dryRun=All`, { body: eviction });
    assert.deepEqual(await targets(), []);
    const other = { ...eviction, deleteOptions: { preconditions: { uid: "other" } } };
    const refused = await ask(plane, "POST", `${pods}/a/eviction`, { body: other });
    assert.equal(refused.status, 409, refused.text);
    assert.deepEqual(await targets(), [], "a refused eviction says nothing");
    const read = await ask(plane, "GET", `${pods}/a`);
    const { resourceVersion } = read.json.metadata ?? {};
    const mine = { ...eviction, deleteOptions: { preconditions: { resourceVersion } } };
    const done = await ask(plane, "POST", `${pods}/a/eviction`, { body: mine });
    assert.equal(done.status, 201, done.text);
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
    };
    assert.deepEqual(await targets(), [[condition, true]]);
  }));

test("eviction asks the disruption budget", () =>
  withPlane(async (plane) => {
    const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    await ask(plane, "POST", pods, { body: pod("a", { labels: { app: "x" } }) });
    const running = {
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    };
    const merge = "application/merge-patch+json";
    await ask(plane, "PATCH", `${pods}/a/status`, { body: running, type: merge });
    const spec = { minAvailable: 1, selector: { matchLabels: { app: "x" } } };
    const made = await ask(plane, "POST", budgets, { body: { metadata: { name: "pdb" }, spec } });
    assert.equal(made.status, 201, made.text);
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      desiredHealthy: 1,
      currentHealthy: 1,
      expectedPods: 1,
    };
    await ask(plane, "PATCH", `${budgets}/pdb/status`, { body: { status }, type: merge });
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" } };
    const refused = await ask(plane, "POST", `${pods}/a/eviction`, { body: eviction });
    assert.equal(refused.status, 429, refused.text);
    assert.deepEqual(statusOf(refused).details?.causes, [
      {
        reason: "DisruptionBudget",
        message: "The disruption budget pdb needs 1 healthy pods and has 1 currently",
      },
    ]);
    const causes = async (change: object): Promise<unknown> => {
      await ask(plane, "PATCH", `${budgets}/pdb/status`, { body: { status: change }, type: merge });
      const answer = await ask(plane, "POST", `${pods}/a/eviction`, { body: eviction });
      return statusOf(answer).details?.causes?.map(({ message }) => message);
    };
    const condition = (reason: string, message: string) => ({
      type: "DisruptionAllowed",
      status: "False",
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: "2026-01-02T03:04:05Z",
    });
    const budget429 = "The disruption budget pdb does not allow evicting pods currently";
    const other = { ...condition("R", ""), type: "Other", status: "True" };
    assert.deepEqual(await causes({ currentHealthy: 2 }), [budget429]);
    assert.deepEqual(await causes({ conditions: [condition("R", "why")] }), [
      `${budget429} (R): why`,
    ]);
    assert.deepEqual(await causes({ conditions: [condition("SyncFailed", "why"), other] }), [
      `${budget429} because it failed sync: why`,
    ]);
    const more = { status: { disruptionsAllowed: 1 } };
    await ask(plane, "PATCH", `${budgets}/pdb/status`, { body: more, type: merge });
    const done = await ask(plane, "POST", `${pods}/a/eviction`, { body: eviction });
    assert.equal(done.status, 201, done.text);
    const budget = await ask(plane, "GET", `${budgets}/pdb`);
    const after = budget.json["status"] as {
      disruptionsAllowed?: number;
      disruptedPods?: object;
      conditions?: readonly { type: string; lastTransitionTime: string }[];
    };
    // A condition keeps its place, and its time while its status stays.
    assert.deepEqual(
      after.conditions?.map(({ type }) => type),
      ["DisruptionAllowed", "Other"],
    );
    assert.equal(after.conditions?.[0]?.lastTransitionTime, "2026-01-02T03:04:05Z");
    assert.equal(after.disruptionsAllowed ?? 0, 0);
    assert.deepEqual(Object.keys(after.disruptedPods ?? {}), ["a"]);
  }));

test("scale reads and writes replicas", () =>
  withPlane(async (plane) => {
    const target = "/apis/apps/v1/namespaces/default/deployments";
    const template = {
      metadata: { labels: { app: "x" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const spec = { replicas: 2, selector: { matchLabels: { app: "x" } }, template };
    const made = await ask(plane, "POST", target, { body: { metadata: { name: "d" }, spec } });
    assert.equal(made.status, 201, made.text);
    const scale = await ask(plane, "GET", `${target}/d/scale`);
    assert.equal(scale.json.kind, "Scale");
    assert.deepEqual(scale.json["spec"], { replicas: 2 });
    const patched = await ask(plane, "PATCH", `${target}/d/scale`, {
      body: { spec: { replicas: 5 } },
      type: "application/merge-patch+json",
    });
    assert.equal(patched.status, 200, patched.text);
    const put = await ask(plane, "PUT", `${target}/d/scale`, {
      body: { ...patched.json, spec: { replicas: 7 } },
    });
    assert.equal(put.status, 200, put.text);
    const read = await ask(plane, "GET", `${target}/d`);
    assert.equal((read.json["spec"] as { replicas?: number }).replicas, 7);
    assert.equal(read.json.metadata?.generation, 3);
  }));

test("a body that is needed is not left out", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    for (const [method, path, kind] of [
      ["POST", `${pods}/a/eviction`, "Eviction"],
      ["POST", `${pods}/a/binding`, "Binding"],
      ["POST", "/api/v1/namespaces/default/bindings", "Binding"],
      ["POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "TokenRequest"],
      ["PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "Scale"],
    ] as const) {
      const answer = await ask(plane, method, path);
      if (answer.status === 503) continue; // a plane without an issuer
      assert.equal(
        statusOf(answer).message,
        `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`,
      );
    }
    assert.equal((await ask(plane, "GET", `${pods}/a`)).status, 200);
  }));

test("what a part of an object is asked for names the object of its path, in its namespace", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const target = { kind: "Node", name: "n" };
    const elsewhere =
      "the namespace of the provided object does not match the namespace sent on the request";
    for (const [path, metadata, message] of [
      [`${pods}/a/eviction`, { name: "a", namespace: "other" }, elsewhere],
      [`${pods}/a/eviction`, {}, "name in URL does not match name in Eviction object"],
      [`${pods}/a/binding`, { name: "a", namespace: "other" }, elsewhere],
      [`${pods}/a/binding`, {}, "name in URL does not match name in Binding object"],
      ["/api/v1/namespaces/default/bindings", { name: "a", namespace: "other" }, elsewhere],
      ["/api/v1/namespaces/default/bindings", {}, "Name parameter required."],
    ] as const) {
      const body = path.endsWith("eviction") ? { metadata } : { metadata, target };
      const answer = await ask(plane, "POST", path, { body });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(statusOf(answer).message, message);
    }
    const scale = await ask(plane, "PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", {
      body: { spec: { replicas: 1 } },
    });
    assert.equal(
      statusOf(scale).message,
      "the name of the object (d based on URL) was undeterminable: name must be provided",
    );
  }));

test("a question about access has no name, and only the local one a namespace", () =>
  withPlane(async (plane) => {
    const group = "/apis/authorization.k8s.io/v1";
    const spec = { user: "x", resourceAttributes: { verb: "get", namespace: "default" } };
    for (const [path, metadata, status, message] of [
      ["subjectaccessreviews", { namespace: "other" }, 201, undefined],
      ["subjectaccessreviews", { name: "a" }, 422, /: must be empty$/],
      ["selfsubjectaccessreviews", { labels: { a: "b" } }, 422, /: must be empty$/],
      ["namespaces/default/localsubjectaccessreviews", { namespace: "default" }, 201, undefined],
      ["namespaces/default/localsubjectaccessreviews", { name: "a" }, 422, /except for namespace$/],
      [
        "namespaces/default/localsubjectaccessreviews",
        { namespace: "other" },
        400,
        /does not match the namespace sent on the request$/,
      ],
    ] as const) {
      const answer = await ask(plane, "POST", `${group}/${path}`, { body: { metadata, spec } });
      assert.equal(answer.status, status, answer.text);
      if (message !== undefined) assert.match(statusOf(answer).message ?? "", message);
    }
    const path = `${group}/namespaces/default/localsubjectaccessreviews`;
    const body = { spec: { user: "x", nonResourceAttributes: { path: "/", verb: "get" } } };
    const answer = await ask(plane, "POST", path, { body });
    assert.match(statusOf(answer).message ?? "", /: disallowed on this kind of request$/);
  }));

test("what is only created has no path of one object", () =>
  withPlane(async (plane) => {
    for (const path of [
      "/api/v1/namespaces/default/bindings/a",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a",
      "/apis/authentication.k8s.io/v1/tokenreviews/a",
      "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews/a",
    ]) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const) {
        assert.equal((await ask(plane, method, path)).status, 404, `${method} ${path}`);
      }
    }
  }));

test("logs and exec on hollow nodes say what they are", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const early = await ask(plane, "GET", `${pods}/a/log`);
    assert.equal(statusOf(early).message, "pod a does not have a host assigned");
    const node = { metadata: { name: "n", annotations: { "pilothouse.dev/hollow": "true" } } };
    await ask(plane, "POST", "/api/v1/nodes", { body: node });
    const binding = { metadata: { name: "a" }, target: { kind: "Node", name: "n" } };
    await ask(plane, "POST", `${pods}/a/binding`, { body: binding });
    const log = await ask(plane, "GET", `${pods}/a/log`);
    assert.equal(
      log.text,
      "hollow node n: container c of pod default/a is simulated, so it writes no logs\n",
    );
    const exec = await ask(plane, "POST", `${pods}/a/exec?command=ls`);
    assert.equal(
      statusOf(exec).message,
      "pod default/a runs on hollow node n: there is no container to exec",
    );
  }));

test("a server without a way to kubelets says so, with a reason", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    await ask(plane, "POST", "/api/v1/nodes", { body: { metadata: { name: "n" } } });
    const binding = { metadata: { name: "a" }, target: { kind: "Node", name: "n" } };
    await ask(plane, "POST", `${pods}/a/binding`, { body: binding });
    for (const [method, part] of [
      ["GET", "log"],
      ["POST", "exec"],
      ["POST", "attach"],
      ["POST", "portforward"],
      ["GET", "proxy/"],
    ] as const) {
      const answer = await ask(plane, method, `${pods}/a/${part}`);
      assert.equal(answer.status, 501, answer.text);
      assert.equal(statusOf(answer).reason, "NotImplemented");
    }
  }));

test("reviews answer in their status and are not stored", () =>
  withPlane(async (plane) => {
    const group = "/apis/authorization.k8s.io/v1";
    const attributes = { verb: "get", resource: "pods", namespace: "default" };
    const access = await ask(plane, "POST", `${group}/selfsubjectaccessreviews`, {
      body: { spec: { resourceAttributes: attributes } },
    });
    assert.equal(access.status, 201, access.text);
    assert.deepEqual(access.json["status"], { allowed: true });
    const self = await ask(plane, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      body: {},
    });
    const user = (self.json["status"] as { userInfo: { username: string } }).userInfo;
    assert.equal(user.username, "tester");
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const table = await ask(plane, "POST", `${group}/selfsubjectaccessreviews`, {
      headers: { accept },
      body: { spec: { resourceAttributes: attributes } },
    });
    assert.equal(table.status, 406);
  }));
