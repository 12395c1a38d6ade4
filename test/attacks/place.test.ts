/**
 * A user limited to one namespace reaches nothing outside it, whatever the path: every cluster-scoped
 * kind, verb and subresource by table, and any path by search.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { given } from "#base/given.ts";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { ask, openPlane, type Plane, request } from "#apiserver/testing/plane.ts";
import type { Attributes, Authorizer } from "#auth/auth.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { splitTarget } from "#platform/node/http/http-body.ts";
import { type Reached, ReachedPlaces } from "./reached.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const noSuchPath = "the server could not find the requested resource";

/** Replaced by each test. */
let isAllowed: (attributes: Attributes) => boolean = () => true;
const authorizer: Authorizer = {
  authorize: (attributes) => ({ allowed: isAllowed(attributes), denied: false, reason: "" }),
  rulesFor: () => ({ rules: [], incomplete: false }),
};
const inTeam = ({ namespace }: Attributes): boolean => namespace === "team";
const onlyCm = ({ namespace, name }: Attributes): boolean => namespace === "team" && name === "cm";

const reached = new ReachedPlaces();
let plane: Plane;

before(async () => {
  plane = await openPlane({ authorizer, around: reached.around });
  isAllowed = () => true;
  for (const name of ["team", "victim"]) {
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    assert.equal((await ask(plane, "POST", "/api/v1/namespaces", { body: object })).status, 201);
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cm" } };
    const maps = `/api/v1/namespaces/${name}/configmaps`;
    assert.equal((await ask(plane, "POST", maps, { body: map })).status, 201);
  }
  reached.take();
});

after(() => plane.close());

const clusterScoped = stableResources().filter(({ namespaced }) => !namespaced);
const root = ({ group, version }: ResourceInfo): string =>
  group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
const patchTypes = ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json"];

interface Case {
  readonly method: string;
  readonly target: string;
  readonly type?: string;
  readonly body?: object;
}

/** Every way to name a cluster-scoped kind below a namespace. */
function* casesOf(info: ResourceInfo): Generator<Case> {
  const named = info.subresources.map(({ name }) => name);
  const tails = ["", "/victim"];
  for (const name of new Set([...named, "status", "finalize", "scale", "proxy", "approval"])) {
    tails.push(`/victim/${name}`);
  }
  const metadata = { name: "victim", resourceVersion: "" };
  const body = { apiVersion: `${info.group}/${info.version}`.replace(/^\//, ""), metadata };
  const object = { ...body, kind: info.kind };
  for (const tail of tails) {
    for (const prefix of ["", "/watch", "/proxy"]) {
      const target = `${root(info)}${prefix}/namespaces/team/${info.resource}${tail}`;
      for (const query of [
        "",
        "?watch=true",
        "?fieldSelector=metadata.name%3Dteam",
        "?resourceVersion=0",
      ]) {
        yield { method: "GET", target: target + query };
      }
      yield { method: "HEAD", target };
      for (const method of ["POST", "PUT"]) yield { method, target, body: object };
      yield { method: "DELETE", target };
      for (const type of patchTypes) {
        const patch = type === "json-patch+json" ? [] : { metadata: { labels: { taken: "yes" } } };
        yield { method: "PATCH", target, body: patch, type: `application/${type}` };
      }
      yield {
        method: "PATCH",
        target: `${target}?fieldManager=m&force=true`,
        body: object,
        type: "application/apply-patch+yaml",
      };
    }
  }
}

async function statusOf(response: PlainResponse): Promise<{ code: number; message: string }> {
  if (response.kind === "stream" || response.kind === "events") return { code: 200, message: "" };
  if (response.kind === "tunnel") return { code: 101, message: "" };
  const text =
    response.kind === "object"
      ? JSON.stringify(response.object)
      : Buffer.concat(response.body).toString();
  const message = /"message": ?"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? "";
  return { code: response.status, message };
}

function sent({ method, target, body, type }: Case): PlainRequest {
  return request(method, target, {
    ...given({ body, type }),
  });
}

function direct({ method, target, body, type }: Case): PlainRequest {
  return {
    ...request(method, target, type === undefined ? {} : { headers: { "content-type": type } }),
    body: body === undefined ? { kind: "none" } : { kind: "object", object: body },
    peer: { kind: "direct", user: { name: "ann", groups: [] } },
  };
}

describe("a cluster-scoped kind below a namespace", () => {
  it("is in the catalog often enough for the table to mean something", () => {
    assert.ok(clusterScoped.length >= 25, String(clusterScoped.length));
  });

  for (const info of clusterScoped) {
    it(`${info.resource}.${info.group} is 404 for every verb and subresource, in both transports`, async () => {
      isAllowed = inTeam;
      let count = 0;
      for (const one of casesOf(info)) {
        for (const made of [sent(one), direct(one)]) {
          const { code, message } = await statusOf(await plane.server.handler(made));
          assert.equal(code, 404, `${one.method} ${one.target}: ${message}`);
          if (one.method !== "HEAD") assert.equal(message, noSuchPath);
          assert.deepEqual(reached.take(), []);
          count++;
        }
      }
      assert.ok(count > 300);
    });
  }

  it("is 403 for whom the authorizer allows nothing, and 404 for whom it allows everything", async () => {
    for (const target of [
      "/api/v1/namespaces/team/namespaces/victim",
      "/api/v1/namespaces/team/nodes",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/team/clusterroles/admin",
    ]) {
      isAllowed = () => false;
      const refused = await ask(plane, "GET", target);
      assert.equal(refused.status, 403);
      assert.match(refused.text, /in the namespace \\"team\\"/);
      isAllowed = () => true;
      assert.equal((await ask(plane, "GET", target)).status, 404);
    }
    assert.deepEqual(reached.take(), []);
  });
});

/** Bodies sent to each subresource of `team/cm` that name another object. */
function* subresourceCases(info: ResourceInfo): Generator<Case> {
  for (const { name, kind, group = info.group, version = info.version } of info.subresources) {
    const target = `${root(info)}/namespaces/team/${info.resource}/cm/${name}`;
    yield { method: "GET", target };
    for (const metadata of [
      { name: "cm", namespace: "victim" },
      { name: "victim", namespace: "victim" },
      { name: "victim" },
    ]) {
      const body = { apiVersion: `${group}/${version}`.replace(/^\//, ""), kind, metadata };
      for (const method of ["POST", "PUT", "DELETE"]) yield { method, target, body };
      for (const type of patchTypes.slice(1)) {
        yield { method: "PATCH", target, body: { metadata }, type: `application/${type}` };
      }
    }
  }
}

/**
 * Answered before a registry is asked. The way to nodes reads pods by the lister and needs nodes, which this
 * server has none of: kubelet-proxy.test.ts has theirs. A binding or an eviction whose body names another object or
 * namespace is refused before; a token needs somebody to sign it.
 */
const beforeAnyRegistry = [
  "pods/attach",
  "pods/binding",
  "pods/eviction",
  "pods/exec",
  "pods/log",
  "pods/portforward",
  "pods/proxy",
  "serviceaccounts/token",
  "services/proxy",
];

describe("a subresource of an object in a namespace", () => {
  it("reaches that object alone, whatever the body names, for every one of the tables", async () => {
    isAllowed = inTeam;
    const reaching = new Set<string>();
    const namespaced = stableResources().filter((info) => info.namespaced);
    for (const info of namespaced) {
      for (const one of subresourceCases(info)) {
        for (const made of [sent(one), direct(one)]) {
          await plane.server.handler(made);
          for (const { call, namespace, name } of reached.take()) {
            assert.deepEqual(
              [namespace, name],
              ["team", "cm"],
              `${one.method} ${one.target}: ${call}`,
            );
            reaching.add(one.target);
          }
        }
      }
    }
    const all = namespaced.flatMap((info) =>
      info.subresources.map(({ name }) => [info.resource, name, root(info)] as const),
    );
    const rest = all.filter(
      ([resource, name, at]) => !reaching.has(`${at}/namespaces/team/${resource}/cm/${name}`),
    );
    assert.deepEqual(
      rest.map(([resource, name]) => `${resource}/${name}`).toSorted(),
      beforeAnyRegistry,
    );
  });
});

describe("a Namespace", () => {
  it("is reached by its own path alone, as of the namespace it is", async () => {
    isAllowed = inTeam;
    const own = "/api/v1/namespaces/team";
    assert.equal((await ask(plane, "GET", own)).status, 200);
    assert.equal((await ask(plane, "GET", `${own}/status`)).status, 200);
    const labels = { metadata: { labels: { mine: "yes" } } };
    const type = "application/merge-patch+json";
    assert.equal((await ask(plane, "PATCH", own, { body: labels, type })).status, 200);
    for (const { info, namespace, name } of reached.take()) {
      assert.deepEqual([info.resource, namespace, name], ["namespaces", "", "team"]);
    }
    assert.equal((await ask(plane, "GET", "/api/v1/namespaces/victim")).status, 403);
    assert.equal((await ask(plane, "DELETE", "/api/v1/namespaces/victim/status")).status, 403);
    assert.deepEqual(reached.take(), []);
  });
});

/** Answers of a stock server 1.36.3 to somebody who may do all in `team`; recorded. */
const recorded: readonly (readonly [string, number])[] = [
  ["/api/v1/watch/namespaces/team/namespaces/victim", 404],
  ["/api/v1/watch/namespaces/victim", 403],
  ["/api/v1/watch/namespaces/team", 200],
  ["/api/v1/watch/namespaces/team/nodes", 404],
  ["/api/v1/watch/namespaces/team/configmaps/cm", 200],
  ["/api/v1/watch/namespaces/team/configmaps/cm/foo", 404],
  ["/api/v1/watch/namespaces/team/status", 404],
  ["/api/v1/watch/configmaps/cm", 403],
  ["/api/v1/proxy/namespaces/team/nodes/x", 404],
  ["/api/v1/proxy/nodes/x", 403],
  ["/api/v1/namespaces//configmaps", 403],
  ["/api/v1/namespaces//nodes", 403],
  ["//api/v1/namespaces", 403],
  ["//api/v1/namespaces/team", 404],
  ["/api//v1/namespaces", 403],
  ["/api/v1//namespaces", 403],
  ["/api/v1/namespaces/", 403],
  ["/api/v1/namespaces/team//", 200],
  ["/api/v1/namespaces/team/configmaps//", 200],
  ["/api/v1/namespaces/team//configmaps", 404],
  ["/api/v1/namespaces/team/configmaps//cm", 404],
  ["/api/v1/namespaces/team/configmaps/cm/", 200],
  ["/api/v1/namespaces/team/configmaps/..", 400],
  ["/api/v1/namespaces/team/configmaps/.", 400],
  ["/api/v1/namespaces/team/configmaps/a%25b", 400],
  ["/api/v1/namespaces/../configmaps", 403],
  ["/api/v1/namespaces/team/configmaps/..%2f..%2fvictim", 404],
  ["/api/v1/namespaces/team%2fconfigmaps%2fcm", 200],
  ["/api/v1/namespaces/team/../victim/configmaps", 404],
  ["/api/v1/namespaces/status", 403],
  ["/api/v1/namespaces/status/status", 403],
  ["/api/v1/namespaces/team/status/x", 404],
  ["/api/v1/namespaces/team/finalize/x/y", 404],
  ["/api/v1/namespaces/team/finalize", 405],
  ["/api/v1/namespaces/team/namespaces/status", 404],
  ["/apis/apps/v1/namespaces/team/namespaces/victim", 404],
  ["/apis/apps/v1/namespaces/team", 404],
  ["/apis/apps/v1/namespaces", 403],
  ["/api/v1/namespaces/team/componentstatuses/etcd-0", 404],
  ["/api/v1/configmaps/cm", 403],
];

describe("odd paths", () => {
  for (const [target, code] of recorded) {
    it(`GET ${target} is ${code}, as upstream`, async () => {
      isAllowed = inTeam;
      const response = await plane.server.handler(decoded("GET", target));
      assert.equal((await statusOf(response)).code, code);
      if (response.kind === "stream") response.open(sink)();
      onlyInTeam(reached.take(), target);
    });
  }
});

/** As `recorded`, for somebody whose role names the one object `cm`. */
const selectors: readonly (readonly [string, string, number])[] = [
  ["GET", "?fieldSelector=metadata.name%3Dcm", 200],
  ["GET", "?fieldSelector=metadata.name!%3Dcm", 403],
  ["GET", "?fieldSelector=metadata.namespace!%3Da%5C,metadata.name%3Dcm", 403],
  ["GET", "?fieldSelector=metadata.name%3Dcm,metadata.name%3Dx", 200],
  ["GET", "?fieldSelector=metadata.name%3Dcm&limit=x", 403],
  ["GET", "?fieldSelector=%20metadata.name%3Dcm", 403],
  ["GET", "?fieldSelector=metadata.name%3Dcm%20", 403],
  ["DELETE", "?fieldSelector=metadata.name%3Dcm", 403],
  ["POST", "", 403],
];

describe("a role that names one object", () => {
  for (const [method, query, code] of selectors) {
    it(`${method} of the collection with ${query} is ${code}, as upstream`, async () => {
      isAllowed = onlyCm;
      const answer = await ask(plane, method, `/api/v1/namespaces/team/configmaps${query}`);
      assert.equal(answer.status, code, answer.text);
      for (const { name } of reached.take()) assert.equal(name, "cm");
    });
  }

  it("reads a selector as the list does: an escaped comma starts no second term", async () => {
    isAllowed = onlyCm;
    const trick = encodeURIComponent("metadata.namespace!=a\\,metadata.name=cm");
    for (const method of ["GET", "DELETE"]) {
      const target = `/api/v1/namespaces/team/configmaps?fieldSelector=${trick}`;
      assert.equal((await ask(plane, method, target)).status, 403);
    }
    assert.deepEqual(reached.take(), []);
  });
});

describe("bodies", () => {
  const maps = "/api/v1/namespaces/team/configmaps";
  const map = (metadata: object): AnyObject =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata }) as AnyObject;
  const cases: readonly (readonly [string, string, object, number])[] = [
    ["POST", maps, map({ name: "x", namespace: "victim" }), 400],
    ["POST", maps, map({ generateName: "../victim/", namespace: "team" }), 422],
    ["POST", maps, map({ name: "../victim/cm" }), 422],
    ["PUT", `${maps}/cm`, map({ name: "other" }), 400],
    ["PUT", `${maps}/cm`, map({ name: "cm", namespace: "victim" }), 400],
    ["POST", "/api/v1/bindings", { metadata: { name: "p", namespace: "victim" } }, 403],
  ];
  for (const [method, target, body, code] of cases) {
    it(`${method} ${target} with ${JSON.stringify(body)} is ${code}`, async () => {
      isAllowed = inTeam;
      assert.equal((await ask(plane, method, target, { body })).status, code);
      onlyInTeam(reached.take(), target);
    });
  }
});

const sink = { write: () => true, onDrain() {}, end() {}, closed: false };

function decoded(method: string, target: string, more: Partial<Case> = {}): PlainRequest {
  const split = splitTarget(target);
  assert.ok(split !== undefined);
  return { ...sent({ method, target: "/", ...more }), ...split };
}

function onlyInTeam(all: readonly Reached[], what: string): void {
  for (const { call, info, namespace, name } of all) {
    const isOwn = info.resource === "namespaces" && namespace === "" && name === "team";
    const where = `${call} ${info.resource} ${namespace}/${name}`;
    assert.ok(namespace === "team" || isOwn, `${what} reached ${where}`);
  }
}

/** Of every kind: `status`, `binding`, `eviction` ... */
const subresources = [
  ...new Set(stableResources().flatMap((info) => info.subresources.map(({ name }) => name))),
];
const segment = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("namespaces", "team", "victim", "cm", "configmaps") },
  { weight: 10, arbitrary: fc.constantFrom("pods", "nodes", "secrets", "services", "bindings") },
  { weight: 14, arbitrary: fc.constantFrom(...subresources) },
  { weight: 2, arbitrary: fc.constantFrom("watch", "proxy", "v1", "api") },
  { weight: 6, arbitrary: fc.constantFrom("", ".", "..", "%2e%2e", "%2f", "team%2fpods", "%00") },
  { weight: 4, arbitrary: fc.constantFrom(...clusterScoped.map(({ resource }) => resource)) },
  { weight: 2, arbitrary: fc.string({ maxLength: 6 }).map(encodeURIComponent) },
);
const groups = stableResources().map((info) => root(info));
const wild = fc
  .tuple(
    fc.oneof(fc.constant("/api/v1"), fc.constantFrom(...groups, "", "//api/v1", "/api//v1")),
    fc.oneof(fc.constant("/namespaces/team"), fc.constantFrom("", "/watch", "/proxy")),
    fc.array(segment, { minLength: 0, maxLength: 5 }),
  )
  .map(([start, scope, segments]) => `${start}${scope}/${segments.join("/")}`);
const namespaceNames = ["team", "team", "team", "team", "team", "victim", ""];
const resources = ["configmaps", "configmaps", "pods", "secrets", "namespaces", "nodes"];
/** Of the usual shape, so that many are served. */
const usual = fc
  .tuple(
    fc.constantFrom("/api/v1", "/api/v1", "/api/v1/watch"),
    fc.constantFrom(...namespaceNames.map((name) => `/namespaces/${name}`), ""),
    fc.constantFrom(...resources.map((resource) => `/${resource}`), ""),
    fc.constantFrom("", "/cm", "/cm", "/victim", "/team", "/"),
    fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom("", "", "", "/") },
      { weight: 2, arbitrary: fc.constantFrom(...subresources.map((name) => `/${name}`)) },
    ),
  )
  .map((parts) => parts.join(""));
const paths = fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: wild });
const term = fc
  .tuple(
    fc.constantFrom("metadata.name", "metadata.namespace", "a\\,metadata.name", " metadata.name"),
    fc.constantFrom("=", "==", "!="),
    fc.constantFrom("cm", "team", "victim", "a\\,metadata.name=cm", "", "..", "cm\\"),
  )
  .map((parts) => parts.join(""));
const queries = fc.oneof(
  fc.constantFrom("", "?watch=true", "?watch=0", "?limit=1", "?dryRun=All", "?fieldManager=m"),
  fc
    .array(term, { minLength: 1, maxLength: 3 })
    .map((terms) => `?fieldSelector=${encodeURIComponent(terms.join(","))}`),
);
const kindNames = ["ConfigMap", "Namespace", "Pod", "Binding", "Eviction", "Node", "Secret"];
const bodies = fc
  .tuple(
    fc.constantFrom(...kindNames),
    fc.constantFrom("cm", "team", "victim", undefined),
    fc.constantFrom("team", "victim", undefined),
    fc.boolean(),
  )
  .map(([kind, name, namespace, generates]) => ({
    apiVersion: kind === "Eviction" ? "policy/v1" : "v1",
    kind,
    metadata: {
      ...given({ name, namespace }),
      ...(generates ? { generateName: "g-" } : {}),
    },
    ...(kind === "Binding" ? { target: { kind: "Node", name: "n" } } : {}),
  }));
const requests = fc.record({
  method: fc.constantFrom("GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "constructor"),
  path: paths,
  query: queries,
  body: bodies,
  type: fc.constantFrom(
    "application/json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
  ),
});

async function reachedBy(one: {
  method: string;
  path: string;
  query: string;
  body: object;
  type: string;
}): Promise<readonly Reached[]> {
  const split = splitTarget(one.path + one.query);
  if (split === undefined) return [];
  const given = { ...one, target: "/" };
  const plainRequest = { ...sent(one.method === "GET" ? { ...given, body: {} } : given), ...split };
  const response = await plane.server.handler(plainRequest);
  if (response.kind === "stream") response.open(sink)();
  assert.notEqual(response.status, 500, `${one.method} ${one.path}${one.query}`);
  return reached.take();
}

describe("any path", () => {
  it("reaches nothing outside the namespace a user is limited to", async () => {
    isAllowed = inTeam;
    let count = 0;
    const property = fc.asyncProperty(requests, async (one) => {
      const places = await reachedBy(one);
      count += places.length;
      onlyInTeam(places, `${one.method} ${one.path}${one.query}`);
    });
    await fc.assert(property, { seed, numRuns: 6_000 });
    assert.ok(count > 200, `the search reached ${count} places: too few to mean something`);
  });

  it("reaches nothing but the object a role names", async () => {
    isAllowed = onlyCm;
    let count = 0;
    const property = fc.asyncProperty(requests, async (one) => {
      for (const { call, info, namespace, name } of await reachedBy(one)) {
        count++;
        const where = `${one.method} ${one.path}${one.query}: ${call} ${info.resource} ${namespace}/${name}`;
        assert.deepEqual([namespace, name], ["team", "cm"], where);
      }
    });
    await fc.assert(property, { seed, numRuns: 6_000 });
    assert.ok(count > 20, `the search reached ${count} places: too few to mean something`);
  });
});
