/** Webhooks that misbehave, and configurations that reach too far: each request gets the right answer in bounded time. */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import { allow, deny, patch } from "#extension/testing/webhook-server.ts";
import type { AnyObject } from "#api/object.ts";
import {
  configMap,
  configuration,
  openWebhookWorld,
  pathOf,
  registration,
  rule,
  type WebhookWorld,
} from "../conformance/webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const everything = [
  { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "*" },
];

interface Misbehaviour {
  readonly name: string;
  readonly handle: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;
  readonly said: RegExp;
}

const json = { "content-type": "application/json" };

function review(body: Buffer, over: (uid: string) => object): string {
  const { request } = JSON.parse(body.toString()) as { request: { uid: string } };
  const type = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  return JSON.stringify({ ...type, ...over(request.uid) });
}

const misbehaviours: readonly Misbehaviour[] = [
  {
    name: "answers without an end",
    handle: (_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.writeHead(200, json).on("drain", more);
      more();
    },
    said: /failed to call webhook: the answer has more than 3145728 bytes$/,
  },
  {
    name: "drips its answer",
    handle: (_request, response) => void response.writeHead(200, json).write("{"),
    said: /\?timeout=1s": context deadline exceeded$/,
  },
  {
    name: "answers another question",
    handle: (_request, response, body) =>
      void response.end(review(body, () => ({ response: { uid: "other", allowed: true } }))),
    said: /received invalid webhook response: expected response\.uid="[0-9a-f-]+", got "other"$/,
  },
  {
    name: "answers nothing",
    handle: (_request, response) => void response.writeHead(200, json).end(),
    said: /couldn't get version\/kind; json parse error: /,
  },
  {
    name: "answers with a page",
    handle: (_request, response) =>
      void response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    said: /couldn't get version\/kind; json parse error: /,
  },
  {
    name: "answers with a review that has no response",
    handle: (_request, response, body) => void response.end(review(body, () => ({}))),
    said: /received invalid webhook response: webhook response was absent$/,
  },
  {
    name: "answers with another kind",
    handle: (_request, response, body) =>
      void response.end(
        review(body, (uid) => ({
          kind: "Lie",
          apiVersion: "v1",
          response: { uid, allowed: true },
        })),
      ),
    said: /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got \/v1, Kind=Lie$/,
  },
  {
    name: "redirects",
    handle: (request, response) => {
      const location = `https://${request.headers.host}/elsewhere`;
      response.writeHead(307, { location }).end();
    },
    said: /failed to call webhook: the server responded with the status code 307 but did not return more information$/,
  },
  {
    name: "fails",
    handle: (_request, response) =>
      void response.writeHead(500, { "content-type": "text/plain" }).end("oh no"),
    said: /failed to call webhook: an error on the server \("oh no"\) has prevented the request from succeeding$/,
  },
  {
    name: "hangs up",
    handle: (request) => void request.socket.destroy(),
    said: /failed to call webhook: Post "https:\/\/[^"]+": EOF$/,
  },
  {
    name: "switches protocols",
    handle: (_request, response) =>
      void response.writeHead(101, { connection: "upgrade", upgrade: "x" }).end(),
    said: /failed to call webhook: /,
  },
];

describe("a webhook that misbehaves", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
  });
  after(() => world.stop());

  for (const { name, handle, said } of misbehaviours) {
    test(`${name}: the request is refused, or goes on where the failure may be ignored`, async () => {
      let elsewhere = 0;
      world.hooks.raw("/bad", handle);
      world.hooks.raw("/elsewhere", (_request, response) => {
        elsewhere++;
        response.end();
      });
      const hook = { timeoutSeconds: 1 };
      for (const type of ["mutating", "validating"] as const) {
        await world.register(type, "bad", "/bad", hook);
        const failed = await world.create(`${maps}?dryRun=All`, configMap("bad"));
        await world.unregister(type, "bad");
        assert.equal(failed.status, 500, failed.text);
        assert.match(
          String(failed.json["message"]),
          /^Internal error occurred: failed calling webhook "bad\.example\.com": /,
        );
        assert.match(String(failed.json["message"]), said);
        await world.register(type, "bad", "/bad", { ...hook, failurePolicy: "Ignore" });
        const ignored = await world.create(`${maps}?dryRun=All`, configMap("bad"));
        await world.unregister(type, "bad");
        assert.equal(ignored.status, 201, ignored.text);
      }
      assert.equal(elsewhere, 0, "no redirect is followed");
    });
  }

  for (const [status, retryAfter, calls] of [
    [429, "0", 3],
    [503, "0", 3],
    [429, undefined, 1],
    [429, "soon", 1],
    [400, "0", 1],
  ] as const) {
    const asks = calls > 1 ? "is asked again" : "is not asked again";
    test(`answers ${status} with Retry-After ${retryAfter}: it ${asks}`, async () => {
      let seen = 0;
      world.hooks.raw("/busy", (_request, response, body) => {
        const { apiVersion, kind, request } = JSON.parse(body.toString()) as AnyObject;
        const { uid } = request as unknown as { readonly uid: string };
        const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
        if (++seen < 3) return void response.writeHead(status, headers).end("busy");
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ apiVersion, kind, response: { uid, allowed: true } }));
      });
      await world.register("validating", "busy", "/busy");
      const answer = await world.create(`${maps}?dryRun=All`, configMap("busy"));
      await world.unregister("validating", "busy");
      assert.equal(seen, calls);
      assert.equal(answer.status, calls > 1 ? 201 : 500, answer.text);
    });
  }

  test("that always asks to be asked again is asked eleven times, or until its timeout", async () => {
    for (const [retryAfter, calls, said] of [
      ["0", 11, /asked us to try again later$/],
      ["3", 1, /busy\?timeout=1s": context deadline exceeded$/],
    ] as const) {
      let seen = 0;
      world.hooks.raw("/busy", (_request, response) => {
        seen++;
        response.writeHead(429, { "retry-after": retryAfter }).end("busy");
      });
      await world.register("validating", "busy", "/busy", { timeoutSeconds: 1 });
      const answer = await world.create(`${maps}?dryRun=All`, configMap("busy"));
      await world.unregister("validating", "busy");
      assert.equal(seen, calls);
      assert.match(String(answer.json["message"]), said);
    }
  });

  test("it does not hold requests that it does not concern", async () => {
    world.hooks.raw("/never", () => {});
    await world.register("validating", "never", "/never", { timeoutSeconds: 30 });
    const gone = new AbortController();
    const held = fetchAborted(world, gone.signal);
    const secrets = "/api/v1/namespaces/default/secrets";
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "free" } };
    assert.equal((await world.create(secrets, secret)).status, 201);
    gone.abort();
    await held;
    await world.unregister("validating", "never");
  });

  test("a webhook that asks the API for more of the same ends by its own timeouts", async () => {
    let depth = 0;
    world.hooks.on("/recursion", async () => {
      const name = `inner-${depth++}`;
      if (depth < 50) await world.create(maps, configMap(name));
      return { allowed: true };
    });
    await world.register("validating", "recursion", "/recursion", { timeoutSeconds: 5 });
    const answer = await world.create(maps, configMap("outer"));
    await world.unregister("validating", "recursion");
    assert.equal(answer.status, 201);
    assert.equal(depth, 50);
  });
});

/** The client leaves while its request waits for a webhook. */
async function fetchAborted(world: WebhookWorld, signal: AbortSignal): Promise<void> {
  const waiting = world.create(maps, configMap("held")).catch(() => {});
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  void waiting;
}

describe("a patch that reaches too far", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
    await world.create(maps, configMap("stored", { a: "b" }));
  });
  after(() => world.stop());

  const patches: readonly (readonly [string, object, RegExp])[] = [
    [
      "makes the object invalid",
      { op: "add", path: "/data", value: { "no key": "x" } },
      /^422 .*Invalid value: "no key"/,
    ],
    [
      "gives a field another type",
      { op: "add", path: "/data", value: 5 },
      /^500 Internal error occurred: /,
    ],
    [
      "makes another kind of it",
      { op: "replace", path: "/kind", value: "Secret" },
      /^500 Internal error occurred: /,
    ],
    [
      "moves it to another namespace",
      { op: "add", path: "/metadata/namespace", value: "kube-system" },
      /^4\d\d .*namespace/,
    ],
    [
      "does not fit",
      { op: "remove", path: "/nothing/here" },
      /^500 Internal error occurred: remove operation does not apply/,
    ],
    ["is none", { op: "dance" }, /^500 Internal error occurred: /],
    ["nests without end", { op: "add", path: "/data", value: nested(10_000) }, /^\d00 /],
  ];
  for (const [name, operation, expected] of patches) {
    test(`${name}: the write does not happen`, async () => {
      world.hooks.on("/patch", patch(operation));
      await world.register("mutating", "patch", "/patch");
      const answers = [
        await world.create(maps, configMap("patched")),
        await world.ask("PATCH", `${maps}/stored`, {
          body: { data: { a: "c" } },
          type: "application/merge-patch+json",
        }),
      ];
      await world.unregister("mutating", "patch");
      for (const { status, json } of answers)
        assert.match(`${status} ${String(json["message"])}`, expected);
      assert.equal((await world.ask("GET", `${maps}/patched`)).status, 404);
      const stored = await world.ask("GET", `${maps}/stored`);
      assert.deepEqual(stored.json["data"], { a: "b" });
    });
  }

  for (const [field, value] of [
    ["name", "other"],
    ["uid", "11111111-1111-1111-1111-111111111111"],
    ["creationTimestamp", "2001-01-01T00:00:00Z"],
  ] as const) {
    test(`changes metadata.${field} of a stored object: it is refused or has no effect`, async () => {
      const before = (await world.ask("GET", `${maps}/stored`)).json.metadata;
      world.hooks.on("/patch", patch({ op: "add", path: `/metadata/${field}`, value }));
      await world.register("mutating", "patch", "/patch");
      await world.ask("PATCH", `${maps}/stored`, {
        body: { metadata: { labels: { [field.toLowerCase()]: "x" } } },
        type: "application/merge-patch+json",
      });
      await world.unregister("mutating", "patch");
      const after = (await world.ask("GET", `${maps}/stored`)).json.metadata;
      assert.deepEqual(
        [after?.name, after?.uid, after?.creationTimestamp],
        [before?.name, before?.uid, before?.creationTimestamp],
      );
      assert.equal((await world.ask("GET", `${maps}/other`)).status, 404);
    });
  }

  test("breaks managedFields: they are put back, with a warning", async () => {
    const entry = { manager: "x", operation: "Dance" };
    world.hooks.on("/patch", patch({ op: "add", path: "/metadata/managedFields", value: [entry] }));
    await world.register("mutating", "patch", "/patch");
    const answer = await world.create(`${maps}?dryRun=All`, configMap("managed", { a: "b" }));
    await world.unregister("mutating", "patch");
    assert.match(
      answer.warnings,
      /\.metadata\.managedFields was in an invalid state after admission/,
    );
    assert.equal(answer.json.metadata?.managedFields?.[0]?.operation, "Update");
  });

  test("a validating webhook that patches, and a patch of a deletion, are failures", async () => {
    world.hooks.on("/patch", patch({ op: "add", path: "/data", value: {} }));
    await world.register("validating", "patch", "/patch");
    const created = await world.create(maps, configMap("patched"));
    await world.unregister("validating", "patch");
    assert.match(created.text, /validating webhook may not return response\.patch"/);
    await world.register("mutating", "patch", "/patch", {
      rules: [rule(["configmaps"], { operations: ["DELETE"] })],
    });
    const deleted = await world.ask("DELETE", `${maps}/stored`);
    await world.unregister("mutating", "patch");
    const said = 'admission webhook "patch.example.com" attempted to modify the object';
    const text = `${said}, which is not supported for this operation`;
    assert.equal(deleted.json["message"], `Internal error occurred: ${text}`);
  });
});

function nested(depth: number): object {
  let value: object = {};
  for (let at = 0; at < depth; at++) value = { a: value };
  return value;
}

describe("a configuration that reaches too far", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
    world.hooks.on("/deny", deny("all"));
    world.hooks.on("/allow", allow);
  });
  after(() => world.stop());

  test("one that refuses everything can be deleted, changed and replaced", async () => {
    for (const type of ["mutating", "validating"] as const) {
      await world.register(type, "all", "/deny", { rules: everything });
      assert.equal((await world.create(maps, configMap("x"))).status, 400);
      const at = `${registration}/${pathOf(type)}/all`;
      const changed = await world.ask("PATCH", at, {
        body: { metadata: { labels: { a: "b" } } },
        type: "application/merge-patch+json",
      });
      assert.equal(changed.status, 200);
      assert.equal((await world.ask("DELETE", at)).status, 200);
    }
    assert.equal((await world.create(maps, configMap("x"))).status, 201);
  });

  test("an object does not leave a webhook's selection unseen", async () => {
    await world.create(maps, configMap("watched", {}, { labels: { watched: "yes" } }));
    await world.register("validating", "selected", "/deny", {
      objectSelector: { matchLabels: { watched: "yes" } },
    });
    const away = await world.ask("PATCH", `${maps}/watched`, {
      body: { metadata: { labels: null } },
      type: "application/merge-patch+json",
    });
    const into = await world.create(maps, configMap("into", {}, { labels: { watched: "yes" } }));
    const beside = await world.create(maps, configMap("beside"));
    await world.unregister("validating", "selected");
    assert.deepEqual([away.status, into.status, beside.status], [400, 400, 201]);
  });

  test("a namespace does not escape a namespaceSelector by the request that changes its labels", async () => {
    const namespaces = "/api/v1/namespaces";
    const named = (name: string, labels: object) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
    await world.create(namespaces, named("guarded", { guard: "on" }));
    await world.register("validating", "guard", "/deny", {
      namespaceSelector: { matchLabels: { guard: "on" } },
      rules: [rule(["configmaps", "namespaces"], { operations: ["*"] })],
    });
    const inside = await world.create("/api/v1/namespaces/guarded/configmaps", configMap("x"));
    const outside = await world.create(maps, configMap("outside"));
    const made = await world.create(namespaces, named("new", { guard: "on" }));
    const gone = await world.ask("DELETE", `${namespaces}/guarded`);
    await world.unregister("validating", "guard");
    assert.deepEqual(
      [inside.status, outside.status, made.status, gone.status],
      [400, 201, 400, 400],
    );
  });

  test("addresses: https only, no user, no query, no fragment", async () => {
    const urls = [
      "http://127.0.0.1/x",
      "https://me:secret@127.0.0.1/x",
      "https://127.0.0.1/x?y=z",
      "https://127.0.0.1/x#y",
      "file:///etc/passwd",
      "https:///x",
    ];
    for (const url of urls) {
      const body = configuration("validating", "url", { clientConfig: { url } });
      const answer = await world.create(`${registration}/${pathOf("validating")}`, body);
      assert.equal(answer.status, 422, `${url}: ${answer.text}`);
    }
  });

  test("a certificate of another host or of an unknown authority ends the call before a byte of the question", async () => {
    const before = world.hooks.asked.length;
    const clients = [
      {
        url: `https://localhost.localdomain:${world.hooks.port}/deny`,
        caBundle: world.hooks.caBundle,
      },
      { url: world.hooks.url("/deny") },
    ];
    for (const clientConfig of clients) {
      await world.register("validating", "other", "/deny", { clientConfig });
      const answer = await world.create(maps, configMap("tls"));
      await world.unregister("validating", "other");
      assert.equal(answer.status, 500);
      assert.match(
        String(answer.json["message"]),
        /tls: failed to verify certificate|no such host/,
      );
    }
    assert.equal(world.hooks.asked.length, before);
  });

  test("a thousand configurations that do not match are not asked and do not slow a write down", async () => {
    const path = `${registration}/${pathOf("validating")}`;
    for (let at = 0; at < 1_000; at++) {
      const clientConfig = { url: world.hooks.url("/deny"), caBundle: world.hooks.caBundle };
      const hook = { clientConfig, rules: [rule(["secrets"])] };
      const { status } = await world.create(path, configuration("validating", `many-${at}`, hook));
      assert.equal(status, 201);
    }
    assert.equal((await world.create(maps, configMap("beside-many"))).status, 201);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "x" } };
    const asked = world.hooks.asked.length;
    assert.equal((await world.create("/api/v1/namespaces/default/secrets", secret)).status, 400);
    assert.equal(world.hooks.asked.length, asked + 1_000);
    assert.ok(
      world.hooks.connections() < 400,
      "no more connections than calls that may be in flight",
    );
    await world.ask("DELETE", path);
  });
});
