/**
 * Attacks on priority and fairness: looking at others' requests, asking for explanations without the right, holding
 * all watches of a level, and names that try to be rows of a page.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { StaticTokens } from "#auth/token-file.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const flows = "/apis/flowcontrol.apiserver.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const dumps = "/debug/api_priority_and_fairness";
const pages = ["dump_priority_levels", "dump_queues", "dump_requests"];
const asking = { "x-pilothouse-explain": "1" };
const maps = "/api/v1/namespaces/default/configmaps";

/** eve reads ConfigMaps; nosy may also see the pages; quiet is of a service account's groups. */
const staticTokens = new StaticTokens(
  [
    "eve-token,eve,1",
    "nosy-token,nosy,2",
    'quiet-token,system:serviceaccount:green:quiet,3,"system:serviceaccounts"',
  ].join("\n"),
);

let promised: PromisedPlane;

async function create(path: string, body: object): Promise<void> {
  const answer = await promised.ask("POST", path, { body });
  assert.equal(answer.status, 201, answer.text);
}

async function allow(name: string, rules: readonly object[], users: readonly string[]) {
  await create(`${rbac}/clusterroles`, { metadata: { name }, rules });
  const apiGroup = "rbac.authorization.k8s.io";
  await create(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name },
    subjects: users.map((user) => ({ apiGroup, kind: "User", name: user })),
  });
}

before(async () => {
  promised = await startPromised({ staticTokens });
  const read = { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["configmaps"] };
  await allow("reads", [read], ["eve", "nosy", "system:serviceaccount:green:quiet"]);
  await allow("looks", [{ verbs: ["get"], nonResourceURLs: [`${dumps}/*`] }], ["nosy"]);
});
after(() => promised.stop());

describe("the debug pages", () => {
  test("are for those who may get their paths, and nobody else", async () => {
    for (const page of [...pages, "dump_requests?includeRequestDetails=1"]) {
      const path = `${dumps}/${page}`;
      const refused = await promised.ask("GET", path, { token: "eve-token" });
      assert.equal(refused.status, 403, page);
      assert.match(refused.text, /User \\"eve\\" cannot get path/);
      assert.doesNotMatch(refused.text, /PriorityLevelName/);
      assert.equal((await promised.ask("GET", path, { token: "nosy-token" })).status, 200, page);
      assert.equal((await promised.ask("POST", path, { token: "nosy-token" })).status, 403, page);
      const admin = await promised.ask("GET", path);
      assert.match(admin.text, /^PriorityLevelName, /);
      assert.equal(admin.headers["content-type"], "text/plain; charset=utf-8");
    }
    const unknown = await promised.ask("GET", `${dumps}/dump_users`);
    assert.deepEqual([unknown.status, unknown.text], [404, "404 page not found\n"]);
  });

  test("show the request that asks, and are in no index", async () => {
    const path = `${dumps}/dump_requests?includeRequestDetails=1`;
    const { text } = await promised.ask("GET", path, { token: "nosy-token" });
    const row = text.split("\n").find((line) => line.includes("dump_requests"));
    assert.match(
      row ?? text,
      /^global-default, +global-default, +\d+, +-1, +nosy, .*, +nosy, +get, +\/debug\/api/,
    );
    assert.doesNotMatch((await promised.ask("GET", "/")).text, /api_priority_and_fairness/);
  });
});

describe("an explanation", () => {
  test("tells who may know what the request was, whatever the answer", async () => {
    const sent = { token: "nosy-token", headers: asking };
    const list = await promised.ask("GET", maps, sent);
    assert.match(
      String(list.headers["x-pilothouse-explain"]),
      /^level=global-default; schema=global-default; flow=nosy; seats=1; finalSeats=0; queuedMs=[\d.]+; source=cache; index=namespace$/,
    );
    const sourceOf = async (path: string): Promise<string> => {
      const text = String((await promised.ask("GET", path, sent)).headers["x-pilothouse-explain"]);
      return text.replace(/^.*; source=/, "");
    };
    assert.equal(await sourceOf(`${maps}/kube-root-ca.crt`), "cache; index=key");
    assert.equal(await sourceOf("/api/v1/configmaps"), "cache; index=none");
    assert.equal(await sourceOf(`${maps}?fieldSelector=metadata.name%3Da`), "cache; index=key");
    assert.equal(await sourceOf("/version"), "server");
    const forbidden = await promised.ask("GET", "/api/v1/secrets", sent);
    assert.equal(forbidden.status, 403);
    assert.match(String(forbidden.headers["x-pilothouse-explain"]), /^level=global-default; /);
    const watch = await promised.open(`${maps}?watch=1&labelSelector=a%3Db`, sent);
    assert.match(String(watch.headers["x-pilothouse-explain"]), /source=cache; index=label$/);
    watch.end();
  });

  test("tells nobody else anything", async () => {
    for (const value of ["1", "1, 1", "true", "1\t"]) {
      const headers = { "x-pilothouse-explain": value };
      const answer = await promised.ask("GET", maps, { token: "eve-token", headers });
      const told = answer.headers["x-pilothouse-explain"];
      assert.ok(told === undefined || String(told).startsWith("denied; needs="), String(told));
      assert.doesNotMatch(String(told), /global-default|eve/);
    }
    const stranger = await promised.ask("GET", maps, { token: "no such token", headers: asking });
    assert.equal(stranger.status, 401);
    assert.equal(stranger.headers["x-pilothouse-explain"], undefined);
    assert.equal(
      (await promised.ask("GET", maps, { token: "nosy-token" })).headers["x-pilothouse-explain"],
      undefined,
    );
  });
});

describe("a level's watches", () => {
  test("are all held by one user, and another level is unharmed", async () => {
    const annotations = { "flowcontrol.pilothouse.dev/watches-max": "3" };
    const path = `${flows}/prioritylevelconfigurations/global-default`;
    const type = "application/merge-patch+json";
    const patched = await promised.ask("PATCH", path, {
      body: { metadata: { annotations } },
      type,
    });
    assert.equal(patched.status, 200, patched.text);
    const watch = `${maps}?watch=1`;
    const held = [];
    for (let at = 0; at < 3; at++) held.push(await promised.open(watch, { token: "eve-token" }));
    assert.deepEqual(
      held.map(({ status }) => status),
      [200, 200, 200],
    );
    const refused = await promised.ask("GET", watch, { token: "eve-token" });
    assert.equal(refused.status, 429);
    assert.equal(
      refused.text,
      "Too many watches are open at this priority level, please try again later.\n",
    );
    assert.ok(Number(refused.headers["retry-after"]) >= 1);
    assert.ok("x-kubernetes-pf-prioritylevel-uid" in refused.headers);
    const list = await promised.ask("GET", maps, { token: "eve-token" });
    assert.equal(list.status, 200, "its other requests are served");
    const quiet = await promised.open(watch, { token: "quiet-token" });
    assert.equal(quiet.status, 200, "workload-low has its own");
    quiet.end();
    const metrics = (await promised.ask("GET", "/metrics")).text;
    assert.match(
      metrics,
      /pilothouse_flowcontrol_open_watches\{priority_level="global-default"\} 3\n/,
    );
    assert.match(
      metrics,
      /rejected_requests_total\{priority_level="global-default",flow_schema="global-default",reason="watch-limit"\} 1\n/,
    );
    for (const one of held) one.end();
    await untilOpens(watch);
  });
});

/** The server hears of a closed connection a moment later. */
async function untilOpens(path: string): Promise<void> {
  for (;;) {
    const { status, end } = await promised.open(path, { token: "eve-token" });
    end();
    if (status === 200) return;
    assert.equal(status, 429);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
