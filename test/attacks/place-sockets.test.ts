/**
 * The administrator of one namespace, by RBAC and on sockets: what they ask for below it is not the rest
 * of the cluster, at the server and through a relay, over HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { RelayedPlane, type Answered } from "./relayed-plane.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";
const doors = ["plane", "relay"] as const;
const protocols = ["ask", "ask2"] as const;

let world: RelayedPlane;

before(async () => {
  world = await RelayedPlane.start();
  for (const name of ["team", "victim"]) await made("/api/v1/namespaces", { metadata: { name } });
  await made("/api/v1/nodes", { metadata: { name: "hollow-0" } });
  await made(`${rbac}/clusterroles`, { metadata: { name: "rôle" }, rules: [] });
  await made(`${rbac}/namespaces/team/rolebindings`, {
    metadata: { name: "ann" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "User", name: "ann", apiGroup }],
  });
});

after(() => world.stop());

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await world.ask("plane", "POST", path, { as: world.admin, body });
  assert.equal(status, 201, text);
}

async function everyWay(
  method: string,
  path: string,
  name: string,
  check: (answer: Answered, way: string) => void,
): Promise<void> {
  const as = name === "admin" ? world.admin : world.certificate(name);
  const labels = { metadata: { labels: { taken: "yes" } } };
  const body = method === "GET" || method === "DELETE" ? {} : { body: labels };
  const headers =
    method === "PATCH" ? { headers: { "content-type": "application/merge-patch+json" } } : {};
  for (const door of doors) {
    for (const protocol of protocols) {
      const answer = await world[protocol](door, method, path, { as, ...body, ...headers });
      check(answer, `${method} ${path} at the ${door} by ${protocol}: ${answer.text}`);
    }
  }
}

describe("the administrator of one namespace", () => {
  for (const path of [
    "/api/v1/namespaces/team/namespaces/victim",
    "/api/v1/namespaces/team/namespaces/victim/status",
    "/api/v1/namespaces/team/namespaces/victim/finalize",
    "/api/v1/namespaces/team/namespaces",
    "/api/v1/namespaces/team/nodes/hollow-0?resourceVersion=0",
    "/api/v1/namespaces/team/nodes?resourceVersion=0",
    "/api/v1/watch/namespaces/team/nodes",
    `${rbac}/namespaces/team/clusterroles/cluster-admin`,
  ]) {
    it(`gets 404 for ${path}, whatever the verb`, async () => {
      for (const method of ["GET", "PATCH", "PUT", "POST", "DELETE"]) {
        await everyWay(method, path, "ann", ({ status }, way) => assert.equal(status, 404, way));
      }
    });
  }

  it("gets 404 for polls of nodes below it, and 403 for polls of all", async () => {
    for (const path of ["/etag/api/v1/namespaces/team/nodes", "/etag//api/v1/nodes"]) {
      const answer = await world.ask("relay", "GET", path, { as: world.certificate("ann") });
      assert.ok([403, 404].includes(answer.status), answer.text);
      assert.ok(!answer.text.includes("hollow-0"));
    }
  });

  it("has their own namespace, and left the rest as it was", async () => {
    await everyWay("GET", "/api/v1/namespaces/team", "ann", ({ status }, way) =>
      assert.equal(status, 200, way),
    );
    for (const path of ["/api/v1/namespaces/victim", "/api/v1/nodes/hollow-0"]) {
      await everyWay("GET", path, "ann", ({ status }, way) => assert.equal(status, 403, way));
      const { status, text } = await world.ask("plane", "GET", path, { as: world.admin });
      assert.equal(status, 200);
      assert.ok(!text.includes("taken"), text);
    }
  });
});

describe("a path with bytes beyond ASCII", () => {
  it("names the same object as the path that encodes them", async () => {
    const raw = `${rbac}/clusterroles/${Buffer.from("rôle").toString("latin1")}`;
    await everyWay("GET", `${rbac}/clusterroles/r%C3%B4le`, "admin", ({ status, text }, way) => {
      assert.equal(status, 200, way);
      assert.match(text, /"name":"rôle"/);
    });
    // Node's parser of HTTP/1.1 takes no such byte: 400.
    for (const door of doors) {
      const { status, text } = await world.ask2(door, "GET", raw, { as: world.admin });
      assert.equal(status, 200, text);
      assert.match(text, /"name":"rôle"/);
    }
  });

  it("is 400 when they are not UTF-8", async () => {
    await everyWay("GET", `${rbac}/clusterroles/r\u00f4le`, "admin", ({ status }, way) =>
      assert.equal(status, 400, way),
    );
  });
});
