/**
 * Aggregation under attack: by clients who would be somebody else behind the proxy or reach another path,
 * by writers of APIServices who would take over what is built in, and by servers behind it.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { aggregationLimits } from "#extension/aggregation/limits.ts";
import {
  type AggregatedPlane,
  apiService,
  apiServices,
  conditionIs,
  items,
  makeService,
  must,
  register,
  startAggregatedPlane,
  text,
  until,
} from "../aggregation/aggregated-plane.ts";
import { type HostileRemote, startHostileRemote } from "../aggregation/hostile-remote.ts";

const namespace = "default";
const merge = { "content-type": "application/merge-patch+json" };
const things = "/apis/evil.example.com/v1/namespaces/default/things";
const named = { group: "evil.example.com", version: "v1" };
const good = { group: "good.example.com", version: "v1" };
const goodThings = "/apis/good.example.com/v1/namespaces/default/things";
/** Short enough for a test to wait for. */
const limits = { ...aggregationLimits, answerMs: 1_500, probeMs: 1_500, discoveryMs: 1_500 };

describe("aggregation", () => {
  let world: AggregatedPlane;
  let evil: HostileRemote;
  let other: HostileRemote;

  before(async () => {
    world = await startAggregatedPlane({ loops: "none", aggregation: { limits } });
    evil = await startHostileRemote("evil", namespace);
    other = await startHostileRemote("good", namespace);
    await makeService(world, { name: "evil", namespace, address: "10.3.0.1", port: evil.port });
    await makeService(world, { name: "good", namespace, address: "10.3.0.2", port: other.port });
    await register(world, { ...named, service: { name: "evil", namespace }, ca: evil.ca });
    await register(world, { ...good, service: { name: "good", namespace }, ca: other.ca });
  });

  after(async () => {
    await world.stop();
    await Promise.all([evil.close(), other.close()]);
  });

  /** The whole connection as text, until it ends. */
  async function raw(text: string): Promise<string> {
    const socket = world.socket();
    socket.write(text);
    let got = "";
    socket.on("data", (chunk: Buffer) => (got += chunk.toString("latin1")));
    socket.on("error", () => {});
    await once(socket, "close");
    return got;
  }

  const line = (path: string, more: readonly string[] = []): string =>
    [`GET ${path} HTTP/1.1`, "host: x", "connection: close", ...more, "", ""].join("\r\n");

  test("a client is who this server knows it to be: forged X-Remote-*, Authorization and Impersonate-* stay here", async () => {
    const forged = {
      "x-remote-user": "system:admin",
      "X-Remote-Group": "system:masters",
      "x-remote-extra-scopes": "all",
      "x-remote-uid": "0",
      "impersonate-user": "jösé",
      "impersonate-group": "a,b",
      "impersonate-extra-Example.com%2fKey~": "v",
      connection: "keep-alive, x-remote-user",
    };
    const role = {
      metadata: { name: "things" },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    };
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    await must(world.ask("POST", `${rbac}/clusterroles`, { body: role }));
    const apiGroup = "rbac.authorization.k8s.io";
    const subjects = [{ apiGroup, kind: "User", name: "jösé" }];
    const roleRef = { apiGroup, kind: "ClusterRole", name: "things" };
    const body = { metadata: { name: "things" }, subjects, roleRef };
    await must(world.ask("POST", `${rbac}/clusterrolebindings`, { body }));
    evil.seen.length = 0;
    const latin1 = { ...forged, "impersonate-user": Buffer.from("jösé").toString("latin1") };
    const answer = await world.ask("GET", things, { headers: latin1 });
    assert.equal(answer.status, 200, answer.text);
    const lines = evil.seen[0]?.headersDistinct ?? {};
    const ofIdentity = Object.fromEntries(
      Object.entries(lines).filter(([name]) => /^(x-remote|impersonate|authorization)/.test(name)),
    );
    assert.deepEqual(ofIdentity, {
      "x-remote-user": [latin1["impersonate-user"]],
      "x-remote-group": ["a,b", "system:authenticated"],
      "x-remote-extra-example.com%2fkey~": ["v"],
    });
  });

  test("a path never leaves the group-version, however its dots and slashes are written", async () => {
    const base = "/apis/evil.example.com/v1";
    const paths = [
      `${base}/../../../api/v1/secrets`,
      `${base}/%2e%2e/%2e%2e/api/v1/secrets`,
      `${base}/%2E%2E%2f..%2fapi/v1/secrets`,
      `${base}/things/./x`,
      `${base}/things//x`,
      `${base}//things`,
      `/${base}/things`,
      `//apis//evil.example.com/v1/things`,
      `/apis/evil.example.com//v1/things`,
      `/apis/x/../evil.example.com/v1/things`,
    ];
    evil.seen.length = 0;
    for (const path of paths) {
      const head = (await raw(line(path))).split("\r\n")[0] ?? "";
      assert.match(head, / 40[04] /, path);
    }
    assert.deepEqual(
      evil.seen.map(({ url }) => url),
      [],
    );
  });

  test("a path of any shape below the group-version is the other server's to understand, and is authorized first", async () => {
    const base = "/apis/evil.example.com/v1";
    const paths = [
      "/globals/x",
      "/globals/x/a/b/c",
      "/namespaces/x",
      "/watch/things",
      "/things/",
      "",
    ];
    evil.seen.length = 0;
    for (const path of paths) {
      assert.equal((await world.ask("GET", base + path)).status, 200, path);
      // Discovery is for everybody.
      if (path === "") continue;
      const as = { "impersonate-user": "nobody" };
      const refused = await world.ask("GET", base + path, { headers: as });
      assert.equal(refused.status, 403, path);
    }
    assert.deepEqual(
      evil.seen.map(({ url }) => url),
      paths.map((path) => base + path),
    );
  });

  test("connections are used again", async () => {
    evil.seen.length = 0;
    for (let count = 0; count < 10; count++) await world.ask("GET", `${things}/x`);
    // A probe may take the free one in between.
    assert.ok(new Set(evil.seen.map(({ socket }) => socket)).size < 4);
  });

  test("a twice encoded path is passed on as often encoded as it came, less once", async () => {
    evil.seen.length = 0;
    await raw(line(`${things}/%252e%252e`));
    assert.equal(evil.seen[0]?.url, `${things}/%252e%252e`);
  });

  test("what is authorized is what is sent: of a query, what both servers would read differently", async () => {
    evil.seen.length = 0;
    await raw(line(`${things}?a=%26watch%3Dtrue&limit=1;watch=true`));
    assert.equal(evil.seen[0]?.url, `${things}?a=%26watch%3Dtrue&limit=1%3Bwatch%3Dtrue`);
  });

  test("an APIService takes over nothing that is built in, and says that it is local", async () => {
    const service = { name: "evil", namespace };
    const spec = { service, insecureSkipTLSVerify: true };
    evil.seen.length = 0;
    for (const name of ["v1.", "v1.apps", "v1.rbac.authorization.k8s.io"]) {
      await must(world.ask("PATCH", `${apiServices}/${name}`, { body: { spec }, headers: merge }));
      const condition = await conditionIs(world, name, "True");
      assert.equal(condition["reason"], "Local");
    }
    for (const version of ["v9", "v1beta9"]) {
      const body = apiService({ group: "apps", version, service });
      await must(world.ask("POST", apiServices, { body }));
    }
    const empty = apiService({ group: "", version: "v2", service });
    const refused = await world.ask("POST", apiServices, { body: empty });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /only v1 may have an empty group and it better be legacy kube/);
    for (const path of [
      "/api/v1/namespaces/default/secrets",
      "/apis/apps/v1/deployments",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=1",
      "/apis/apps/v9/deployments",
    ]) {
      assert.equal((await world.ask("GET", path)).status, path.includes("v9") ? 404 : 200, path);
    }
    assert.deepEqual(evil.seen.length, 0);
  });

  test("no endpoint is on loopback or link-local, and no external name is followed", async () => {
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
    for (const address of ["127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1"]) {
      const body = {
        metadata: { name: "bad", labels: { "kubernetes.io/service-name": "evil" } },
        addressType: "IPv4",
        ports: [{ name: "", port: 8443 }],
        endpoints: [{ addresses: [address] }],
      };
      assert.equal((await world.ask("POST", slices, { body })).status, 422, address);
    }
    const services = `/api/v1/namespaces/${namespace}/services`;
    const spec = { type: "ExternalName", externalName: "localhost" };
    await must(world.ask("POST", services, { body: { metadata: { name: "outside" }, spec } }));
    const service = { name: "outside", namespace };
    const ofName = { group: "outside.example.com", version: "v1", service };
    const condition = await register(world, ofName, "False");
    assert.equal(condition["message"], 'unsupported service type "ExternalName"');
    assert.equal(
      world.reached.some((at) => at.startsWith("localhost")),
      false,
    );
  });

  test("a certificate of another name or authority makes it unavailable; it gets no request", async () => {
    const { group, version } = { group: "other.example.com", version: "v1" };
    const service = { name: "good", namespace };
    const condition = await register(world, { group, version, service, ca: evil.ca }, "False");
    assert.equal(condition["reason"], "FailedDiscoveryCheck");
    assert.match(text(condition["message"]), /x509: certificate signed by unknown authority$/);
    const body = { spec: { service: { name: "evil" } } };
    await must(world.ask("PATCH", `${apiServices}/${version}.${group}`, { body, headers: merge }));
    await conditionIs(world, `${version}.${group}`, "True");
  });

  test("a redirect is refused, not followed and not passed on", async () => {
    evil.behaviours.set("/redirect", (_request, response) => {
      response.writeHead(302, { location: "https://10.3.0.2:8443/secret" }).end();
    });
    const answer = await world.ask("GET", `${things}/redirect`);
    assert.equal(answer.status, 502);
    assert.equal(answer.headers["location"], undefined);
    assert.equal(
      answer.text,
      "the backend attempted to redirect this request, which is not permitted",
    );
  });

  test("a 101 that nobody asked for is refused, and one that was asked for needs an answer of 101", async () => {
    evil.behaviours.set("/switch", (request) => {
      request.socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n",
      );
    });
    const unasked = await world.ask("GET", `${things}/switch`);
    assert.equal(unasked.status, 503);
    evil.onUpgrade = (_request, socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    };
    const wishes = ["connection: Upgrade", "upgrade: websocket"];
    const head = line(`${things}/x/exec`, wishes).replace(
      "connection: close\r\n",
      "connection: Upgrade\r\n",
    );
    const socket = world.socket();
    socket.write(head);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    assert.match(
      chunk.toString("latin1"),
      /^HTTP\/1.1 503 [^]*invalid upgrade response: status code 200/,
    );
  });

  test("headers of more than 64 KiB are no answer", async () => {
    evil.behaviours.set("/heads", (_request, response) => {
      response.writeHead(200, { "x-long": "x".repeat(80_000) }).end();
    });
    const answer = await world.ask("GET", `${things}/heads`);
    assert.equal(answer.status, 503);
    assert.match(answer.text, /^error trying to reach service: .*headers exceeded 65536 bytes/);
  });

  test("an answer that drips ends with its request's time, cut; others are answered meanwhile", async () => {
    evil.behaviours.set("/drip", (_request, response) => {
      response.writeHead(200);
      response.write("x");
    });
    const dripping = assert.rejects(world.ask("GET", `${things}/drip`), /aborted|socket hang up/);
    assert.equal((await world.ask("GET", goodThings)).status, 200);
    assert.equal((await world.ask("GET", "/api/v1/namespaces")).status, 200);
    await dripping;
  });

  test("a server that never answers takes nobody else's place: discovery and others go on", async () => {
    const silent = await startHostileRemote("silent", namespace);
    for (const end of ["", "/v1", "/apis", "/openapi/v2", "/openapi/v3"])
      silent.behaviours.set(end, () => {});
    const address = "10.3.0.3";
    await makeService(world, { name: "silent", namespace, address, port: silent.port });
    const groups = ["a", "b", "c", "d", "e", "f", "g"].map(
      (letter) => `${letter}.silent.example.com`,
    );
    const service = { name: "silent", namespace };
    for (const group of groups) {
      const body = apiService({ group, version: "v1", service, ca: silent.ca });
      await must(world.ask("POST", apiServices, { body }));
    }
    const list = await world.ask("GET", "/apis");
    assert.ok(items(list.json["groups"]).some((one) => text(one["name"]) === groups[0]));
    assert.equal((await world.ask("GET", `/apis/${groups[0]}/v1`)).status, 503);
    assert.equal((await world.ask("GET", goodThings)).status, 200);
    const condition = await conditionIs(world, `v1.${groups[6]}`, "False", "FailedDiscoveryCheck");
    assert.match(text(condition["message"]), /Client\.Timeout exceeded while awaiting headers\)$/);
    for (const group of groups) await must(world.ask("DELETE", `${apiServices}/v1.${group}`));
    await silent.close();
  });

  test("documents without end are dropped: the group stays, stale, and OpenAPI is this server's own", async () => {
    const endless = await startHostileRemote("endless", namespace);
    const forever =
      (type: string, start: string) =>
      (_request: unknown, response: import("node:http").ServerResponse) => {
        response.writeHead(200, { "content-type": type });
        response.write(start);
        const more = (): void => {
          while (!response.destroyed && response.write(" ".repeat(65_536)));
        };
        response.on("drain", more);
        more();
      };
    const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    endless.behaviours.set("/apis", forever(aggregated, '{"items":['));
    endless.behaviours.set("/openapi/v2", forever("application/json", '{"paths":{'));
    endless.behaviours.set("/openapi/v3", forever("application/json", '{"paths":{'));
    const address = "10.3.0.4";
    await makeService(world, { name: "endless", namespace, address, port: endless.port });
    const group = "endless.example.com";
    const service = { name: "endless", namespace };
    await register(world, { group, version: "v1", service, ca: endless.ca });
    const headers = { accept: aggregated };
    const found = await until(async () => {
      const { json } = await world.ask("GET", "/apis", { headers });
      return items(json["items"]).find((one) => text(one["metadata"]?.["name"]) === group);
    }, "the group was never listed");
    assert.equal(items(found["versions"])[0]?.["freshness"], "Stale");
    assert.equal((await world.ask("GET", "/openapi/v2")).status, 200);
    await must(world.ask("DELETE", `${apiServices}/v1.${group}`));
    await endless.close();
  });

  test("a document that is wrong in every field adds nothing but its group", async () => {
    const wrong = await startHostileRemote("wrong", namespace);
    const say =
      (type: string, text: string) =>
      (_request: unknown, response: import("node:http").ServerResponse) =>
        void response.writeHead(200, { "content-type": type }).end(text);
    const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const version = {
      version: "v1",
      resources: [null, 7, { resource: { a: 1 }, verbs: "get", subresources: [[]] }],
    };
    const stolen = { metadata: { name: "apps" }, versions: [{ version: "v1", resources: [] }] };
    const own = { metadata: { name: "wrong.example.com" }, versions: [null, version] };
    wrong.behaviours.set("/apis", say(aggregated, JSON.stringify({ items: [stolen, own, 3] })));
    const deep = `{"paths":{"/apis/wrong.example.com/v1/x":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    wrong.behaviours.set("/openapi/v2", say("application/json", deep));
    const stolenPath = { "apis/apps/v1": { serverRelativeURL: "https://x/" } };
    const ownPath = { "apis/wrong.example.com/v1": { serverRelativeURL: "//x/openapi" } };
    const index = { paths: { ...stolenPath, ...ownPath } };
    wrong.behaviours.set("/openapi/v3", say("application/json", JSON.stringify(index)));
    const address = "10.3.0.5";
    await makeService(world, { name: "wrong", namespace, address, port: wrong.port });
    const service = { name: "wrong", namespace };
    const before = await world.ask("GET", "/openapi/v2");
    await register(world, { group: "wrong.example.com", version: "v1", service, ca: wrong.ca });
    await until(async () => {
      const { json } = await world.ask("GET", "/apis", { headers: { accept: aggregated } });
      const mine = items(json["items"]).find(
        (one) => text(one["metadata"]?.["name"]) === "wrong.example.com",
      );
      return text(items(mine?.["versions"])[0]?.["freshness"]) === "Current" ? mine : undefined;
    }, "the group was never current");
    const protobuf =
      "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert.equal((await world.ask("GET", "/apis", { headers: { accept: protobuf } })).status, 200);
    const v3 = await world.ask("GET", "/openapi/v3");
    assert.match(
      text(v3.json["paths"]?.["apis/apps/v1"]?.["serverRelativeURL"]),
      /^\/openapi\/v3\/apis\/apps/,
    );
    assert.equal((await world.ask("GET", "/openapi/v2")).text, before.text);
    await must(world.ask("DELETE", `${apiServices}/v1.wrong.example.com`));
    await wrong.close();
  });

  test("a server that dies in the middle of an answer leaves no answer that looks whole", async () => {
    evil.behaviours.set("/dies", (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"items":[', () => request.socket.destroy());
    });
    await assert.rejects(world.ask("GET", `${things}/dies`), /aborted|socket hang up/);
  });

  test("a client that leaves ends the request behind it", async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    evil.behaviours.set("/things", (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("{}\n");
      request.socket.once("close", () => end());
    });
    const socket = world.socket();
    socket.write(`GET ${things}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(socket, "data");
    socket.destroy();
    await ended;
    evil.behaviours.delete("/things");
  });
});
