/**
 * Who somebody is, from certificate and header to review, audit line and upstream: the same name all the
 * way, and nobody in through a relay who would not be in without it.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { KeptEvent } from "#server/audit/testing/kept-audit.ts";
import { type Answered, RelayedPlane } from "./relayed-plane.ts";

/** As Node sends it: a character a byte. */
const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const selfReview = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const maps = "/api/v1/namespaces/default/configmaps";
const doors = ["plane", "relay"] as const;

let world: RelayedPlane;

before(async () => {
  world = await RelayedPlane.start();
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const apiGroup = "rbac.authorization.k8s.io";
  const rules = [
    { apiGroups: [""], resources: ["configmaps", "nodes"], verbs: ["list", "watch", "get"] },
  ];
  await made(`${rbac}/clusterroles`, { metadata: { name: "reader" }, rules });
  const subjects = [
    { kind: "User", name: "bøb", apiGroup },
    { kind: "Group", name: "チーム", apiGroup },
    { kind: "User", name: "admin", apiGroup },
    // What the attack needs: an operator once gave it, where anonymous requests are not taken.
    { kind: "User", name: "system:anonymous", apiGroup },
    { kind: "Group", name: "system:unauthenticated", apiGroup },
  ];
  const roleRef = { apiGroup, kind: "ClusterRole", name: "reader" };
  await made(`${rbac}/clusterrolebindings`, { metadata: { name: "readers" }, subjects, roleRef });
});

after(() => world.stop());

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await world.ask("plane", "POST", path, { as: world.admin, body });
  assert.equal(status, 201, text);
}

function userOf({ status, json, text }: Answered): {
  username?: string;
  groups?: readonly string[];
} {
  assert.equal(status, 201, text);
  return (json["status"] as { userInfo: { username: string; groups: readonly string[] } }).userInfo;
}

const servedFrom = "relay.pilothouse.dev/served-from";

/** The event of the last request. */
function lastOf(lines: readonly KeptEvent[]): KeptEvent {
  const line = lines.at(-1);
  assert.ok(line !== undefined);
  return line;
}

describe("a name in a certificate", () => {
  for (const name of ["bøb", "日本", "\ufeffadmin", "emoji 👩‍🚀", 'quote"and\\slash']) {
    it(`${JSON.stringify(name)} is itself at the server and through the relay`, async () => {
      const as = world.certificate(name, ["チーム"]);
      for (const door of doors) {
        const { username, groups } = userOf(
          await world.ask(door, "POST", reviews, { as, body: selfReview }),
        );
        assert.equal(username, name, door);
        assert.ok(groups?.includes("チーム"));
      }
      const read = await world.ask("relay", "GET", `${maps}?resourceVersion=0`, { as });
      assert.equal(read.status, 200, read.text);
      const line = lastOf(world.relayLines);
      assert.equal(line.user.username, name);
      assert.equal(line.annotations?.[servedFrom], "mirror");
      assert.equal(lastOf(world.planeLines).user.username?.includes("\ufffd"), false);
    });
  }

  it("is not that of another user whose bytes look like it", async () => {
    for (const name of [utf8("bøb"), "b\ufffdb", "b\u0000b"]) {
      const as = world.certificate(name);
      const answer = await world.ask("relay", "GET", `${maps}?resourceVersion=0`, { as });
      assert.ok([401, 403].includes(answer.status), answer.text);
      assert.ok(!(await world.ask("plane", "GET", maps, { as })).text.includes('"items"'));
    }
  });

  it("is not that of another user when its ends are spaces, which HTTP trims", async () => {
    for (const name of [" admin", "admin ", "\tadmin", "admin\n", "ad\rmin"]) {
      const as = world.certificate(name);
      const answer = await world.ask("relay", "POST", reviews, { as, body: selfReview });
      assert.equal(answer.status, 403, answer.text);
      const read = await world.ask("relay", "GET", `${maps}?resourceVersion=0`, { as });
      assert.equal(read.status, 403, read.text);
    }
  });

  it("stands in the refusal as it is", async () => {
    for (const door of doors) {
      const as = world.certificate("日本");
      const { status, text } = await world.ask(door, "GET", "/api/v1/secrets", { as });
      assert.equal(status, 403);
      assert.match(text, /User \\"日本\\" cannot list/);
    }
  });
});

describe("a name in an Impersonate header", () => {
  for (const name of ["bøb", "日本", "\ufeffadmin"]) {
    it(`${JSON.stringify(name)} is UTF-8 by both protocols, at the server and the relay`, async () => {
      const headers = {
        "Impersonate-User": utf8(name),
        "Impersonate-Group": [utf8("チーム"), utf8("ø,æ")],
        "Impersonate-Extra-Team%2FNam%C3%A9": utf8("å"),
      };
      const sent = { as: world.admin, body: selfReview, headers };
      for (const door of doors) {
        for (const answer of [
          await world.ask(door, "POST", reviews, sent),
          await world.ask2(door, "POST", reviews, sent),
        ]) {
          const user = userOf(answer);
          assert.equal(user.username, name);
          assert.deepEqual(user.groups, ["チーム", "ø,æ", "system:authenticated"]);
          assert.match(answer.text, /"team\/namé"/);
          assert.match(answer.text, /å/);
        }
        const lines = door === "plane" ? world.planeLines : world.relayLines;
        assert.equal(lastOf(lines).impersonatedUser?.username, name);
        assert.equal(lastOf(lines).user.username, "kubernetes-admin");
      }
    });
  }

  it("is 400 when its bytes are not UTF-8", async () => {
    for (const value of ["b\u00f8b", "\u00c0\u00afadmin", "\u00ed\u00a0\u0080"]) {
      for (const header of ["Impersonate-User", "Impersonate-Group", "Impersonate-Extra-k"]) {
        const headers = { "Impersonate-User": "x", [header]: value };
        for (const door of doors) {
          const sent = { as: world.admin, body: selfReview, headers };
          const answer = await world.ask(door, "POST", reviews, sent);
          assert.equal(answer.status, 400, `${door} ${header}: ${answer.text}`);
          assert.match(answer.text, /valid UTF-8/);
        }
      }
    }
  });

  it("keeps a key called __proto__ a key", async () => {
    const headers = { "Impersonate-User": "x", "Impersonate-Extra-__proto__": "v" };
    for (const door of doors) {
      const answer = await world.ask(door, "POST", reviews, {
        as: world.admin,
        body: selfReview,
        headers,
      });
      assert.equal(answer.status, 201, answer.text);
      assert.match(answer.text, /"__proto__":\["v"\]/);
    }
  });

  it("takes the first of two lines, as upstream", async () => {
    const headers = { "Impersonate-User": ["first", "second"] };
    for (const door of doors) {
      const sent = { as: world.admin, body: selfReview, headers };
      assert.equal(userOf(await world.ask(door, "POST", reviews, sent)).username, "first");
    }
  });

  it("of anonymous is never of the authenticated", async () => {
    const headers = { "Impersonate-User": "system:anonymous" };
    for (const door of doors) {
      const sent = { as: world.admin, body: selfReview, headers };
      const { status, text } = await world.ask(door, "POST", reviews, sent);
      assert.equal(
        status,
        403,
        `${door}: system:authenticated may review itself, anonymous may not`,
      );
      assert.match(text, /system:anonymous/);
    }
  });
});

describe("headers of a front proxy", () => {
  it("do not pass the relay", async () => {
    const headers = { "X-Remote-User": "kubernetes-admin", "X-Remote-Group": "system:masters" };
    const as = world.certificate("ann");
    const { username } = userOf(
      await world.ask("relay", "POST", reviews, { as, body: selfReview, headers }),
    );
    assert.equal(username, "ann");
  });
});

/** Of each way the relay answers: its mirrors, its polls, its documents, its pages, and the upstream. */
const openings: readonly (readonly [string, string])[] = [
  ["GET", `${maps}?resourceVersion=0`],
  ["GET", `${maps}?resourceVersion=0&watch=true`],
  ["GET", `${maps}/kube-root-ca.crt?resourceVersion=0`],
  ["GET", "/api/v1/nodes?resourceVersion=0"],
  ["GET", "/etag/api/v1/nodes"],
  ["GET", "/etag/api/v1/namespaces/default/configmaps?wait=1s"],
  ["GET", "/api"],
  ["GET", "/apis/apps/v1"],
  ["GET", "/openapi/v3"],
  ["GET", "/relay/metrics"],
  ["GET", maps],
  ["GET", "/api/v1/secrets"],
  ["POST", reviews],
  ["DELETE", `${maps}/x`],
];

describe("no credentials, where anonymous may list and the server takes no anonymous request", () => {
  for (const [method, path] of openings) {
    it(`${method} ${path} is 401 through the relay`, async () => {
      const direct = await world.ask("plane", method, path.replace("/etag", ""));
      assert.equal(direct.status, 401, direct.text);
      for (let turn = 0; turn < 2; turn++) {
        const answer = await world.ask("relay", method, path);
        assert.equal(answer.status, 401, answer.text);
        const line = lastOf(world.relayLines);
        const told = [line.responseStatus?.code, line.annotations?.[servedFrom]];
        assert.deepEqual(told, [401, "refused"]);
      }
    });
  }

  it("are not made good by headers that ask to be somebody", async () => {
    const headers = {
      "Impersonate-User": "kubernetes-admin",
      "Impersonate-Group": "system:masters",
    };
    for (const [method, path] of openings) {
      assert.equal((await world.ask("relay", method, path, { headers })).status, 401);
    }
  });

  it("still read health", async () => {
    assert.equal((await world.ask("relay", "GET", "/readyz")).status, 200);
    assert.equal((await world.ask("relay", "GET", "/relay/readyz")).status, 200);
  });
});

describe("the relay's audit log", () => {
  const seen = (line: KeptEvent): unknown[] => {
    const { user, verb, objectRef, responseStatus, annotations } = line;
    const { resource = "", namespace = "" } = objectRef ?? {};
    const by = annotations?.[servedFrom];
    return [user.username, verb, resource, namespace, responseStatus?.code, by];
  };
  const rows: readonly (readonly [string, string, readonly unknown[]])[] = [
    ["GET", `${maps}?resourceVersion=0`, ["list", "configmaps", "default", 200, "mirror"]],
    ["GET", "/etag/api/v1/nodes", ["list", "nodes", "", 200, "etag"]],
    ["GET", "/api", ["get", "", "", 200, "discovery"]],
    ["GET", "/api/v1/secrets", ["list", "secrets", "", 403, "upstream"]],
    ["GET", "/relay/healthz", ["get", "", "", 200, "relay"]],
  ];
  for (const [method, path, [verb, resource, namespace, code, by]] of rows) {
    it(`names who asked for ${path}, and who answered`, async () => {
      const as = world.certificate("bøb");
      await world.ask("relay", method, path, { as, headers: { "User-Agent": utf8("ågent") } });
      const name = by === "relay" ? undefined : "bøb";
      assert.deepEqual(seen(lastOf(world.relayLines)), [name, verb, resource, namespace, code, by]);
      assert.equal(lastOf(world.relayLines).userAgent, "ågent");
    });
  }

  it("has a line for a watch when it ends", async () => {
    const as = world.certificate("bøb");
    const before = world.relayLines.length;
    const watch = `${maps}?resourceVersion=0&watch=true&timeoutSeconds=1`;
    assert.equal((await world.ask("relay", "GET", watch, { as })).status, 200);
    while (lastOf(world.relayLines).stage !== "ResponseComplete") await world.relayLines.next();
    const told = world.relayLines.slice(before).map(({ stage, verb, responseStatus, user }) => {
      return [stage, verb, responseStatus?.code, user.username];
    });
    assert.deepEqual(told, [
      ["ResponseStarted", "watch", 200, "bøb"],
      ["ResponseComplete", "watch", 200, "bøb"],
    ]);
  });

  it("has a line for a 304 given again on its connection", async () => {
    const as = world.certificate("bøb");
    const { headers } = await world.ask("relay", "GET", "/etag/api/v1/nodes", { as });
    const before = world.relayLines.length;
    await world.repeated("/etag/api/v1/nodes", { "if-none-match": String(headers["etag"]) }, as, 5);
    const lines = world.relayLines.slice(before);
    assert.deepEqual(
      lines.map(({ responseStatus, user }) => [responseStatus?.code, user.username]),
      Array.from({ length: 5 }, () => [304, "bøb"]),
    );
  });
});

describe("tokens that are made up", () => {
  const tokenReviews = (): number =>
    world.planeLines.filter(({ objectRef }) => objectRef?.["resource"] === "tokenreviews").length;

  it("cost the upstream the budget of one address, and then 429; who is known stays in", async () => {
    const account = "/api/v1/namespaces/default/serviceaccounts";
    await made(account, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "known" } });
    const granted = await world.ask("plane", "POST", `${account}/known/token`, {
      as: world.admin,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    const { token } = granted.json["status"] as { token: string };
    const known = { headers: { authorization: `Bearer ${token}` } };
    const path = `${maps}?resourceVersion=0`;
    assert.equal((await world.ask("relay", "GET", path, known)).status, 403);

    const before = tokenReviews();
    const codes = new Map<number, number>();
    for (let batch = 0; batch < 10; batch++) {
      const answers = Array.from({ length: 50 }, (_, at) => {
        const headers = { authorization: `Bearer made-up-${batch}-${at}` };
        return world.ask("relay", "GET", path, { headers });
      });
      for (const { status } of await Promise.all(answers)) {
        codes.set(status, (codes.get(status) ?? 0) + 1);
      }
    }
    const asked = tokenReviews() - before;
    assert.ok(asked >= 50 && asked < 250, `${asked} reviews for 500 tokens`);
    assert.equal(codes.get(401), asked);
    assert.equal(codes.get(429), 500 - asked);
    assert.match(
      world.metrics.text(),
      /relay_credentials_refused_total\{outcome="limited_address"\} [1-9]/,
    );
    assert.equal((await world.ask("relay", "GET", path, known)).status, 403);
    const as = world.certificate("bøb");
    assert.equal((await world.ask("relay", "GET", path, { as })).status, 200);
  });

  it("that are not UTF-8 are 401 without a question", async () => {
    const before = tokenReviews();
    const headers = { authorization: "Bearer b\u00f8b" };
    for (const door of doors) {
      assert.equal((await world.ask(door, "GET", maps, { headers })).status, 401);
    }
    assert.equal(tokenReviews(), before);
  });
});
