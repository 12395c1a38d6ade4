/**
 * Views of a relay against what a tenant of the cluster may write and a reader may ask: fields that look like eskip,
 * rows that join too much, one key that very many rows look at, values that lie within each other, Secrets,
 * rights to a part of what is joined, and public views.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { collectionPath, type MirroredKind } from "#relay/mirror/mirrored-kind.ts";
import { JoinedWorld } from "#relay/testing/joined-world.ts";
import { nobody } from "#relay/testing/relay-world.ts";
import { chosenObject, routedKinds } from "#relay/testing/routed-objects.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { relayLimits } from "#relay/limits.ts";
import type { JoinPlan } from "#relay/views/joined/join-plan.ts";
import { JoinTable, type RowChange } from "#relay/views/joined/join-table.ts";
import { checkJoined, definitionOn, parseViewFile } from "#relay/views/view-definition.ts";
import { parseRoutes } from "#skipper/eskip-parser.ts";

const [serviceKind, sliceKind, ingressKind, routeGroupKind] = routedKinds;
const core = { group: "", version: "v1", namespaced: true, apiVersion: "v1" };
const secretKind: MirroredKind = { ...core, resource: "secrets", kind: "Secret" };
const mapKind: MirroredKind = { ...core, resource: "configmaps", kind: "ConfigMap" };
const widgetKind: MirroredKind = {
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
  apiVersion: "example.com/v1",
};

function put(world: JoinedWorld, kind: MirroredKind, name: string, more: object): void {
  const { apiVersion } = kind;
  const metadata = { namespace: "shop", name, ...(more as { metadata?: object }).metadata };
  const object = { ...more, apiVersion, kind: kind.kind, metadata } as AnyObject;
  world.cluster.put(collectionPath(kind), object);
}

/** What an Ingress leads to. */
function putService(world: JoinedWorld, name: string): void {
  put(world, serviceKind, name, { spec: { ports: [{ port: 80, targetPort: 8080 }] } });
}

function ingress(host: string, service: string, path = "/"): object {
  const backend = { service: { name: service, port: { number: 80 } } };
  return { spec: { rules: [{ host, http: { paths: [{ path, pathType: "Prefix", backend }] } }] } };
}

/** Each is an attempt to end the text it stands in and to add a route. */
const hostileTexts = [
  'x") -> <shunt>;\nevil: * -> "http://evil.org',
  "x`) -> <shunt>; evil: * -> <shunt>;",
  "x/) -> <shunt>; evil: * -> <shunt>; //",
  "x; evil: * -> <shunt>",
  "x\r\nevil: * -> <shunt>;\r\n",
  "x\u2028evil: * -> <shunt>;\u2029",
  'x\\"); evil: * -> <shunt>; x: Path("\\',
  '* -> <shunt>; evil: * -> "http://evil.org"',
  'status(200) -> <shunt>; evil: Path("/") -> status(200)',
  "<shunt>\u0000; evil: * -> <shunt>",
  "$(id)${host}{{evil}}*/ evil: * -> <shunt>; /*",
];

/** The same value with one of its texts, or keys, replaced; each in turn. */
function* replaced(value: unknown, by: string): Generator<unknown> {
  if (typeof value === "string") yield by;
  if (Array.isArray(value)) {
    for (const [at, one] of value.entries())
      for (const other of replaced(one, by)) yield value.with(at, other);
  }
  if (!isRecord(value)) return;
  for (const [key, one] of Object.entries(value)) {
    if (["apiVersion", "kind", "namespace", "name"].includes(key) && "metadata" in value) continue;
    for (const other of replaced(one, by)) yield { ...value, [key]: other };
    yield { ...value, [key]: undefined, [by]: one };
  }
}

const skipper = "zalando.org/skipper";
const annotated = {
  "kubernetes.io/ingress.class": "skipper",
  "zalando.org/backend-weights": '{"o0": 20, "o1": 80}',
  [`${skipper}-filter`]: 'setPath("/x")',
  [`${skipper}-predicate`]: 'Method("GET")',
  [`${skipper}-routes`]: 'Method("OPTIONS") -> <shunt>',
  [`${skipper}-ingress-redirect`]: "true",
  [`${skipper}-ingress-redirect-code`]: "301",
  [`${skipper}-ingress-path-mode`]: "path-prefix",
  [`${skipper}-loadbalancer`]: "random",
  [`${skipper}-backend-protocol`]: "http",
};

const richIngress = { metadata: { annotations: annotated }, ...ingress("a.example.org", "o0") };
const richGroup = {
  metadata: { annotations: { "zalando.org/routegroup.class": "skipper" } },
  spec: {
    hosts: ["b.example.org"],
    backends: [
      { name: "own", type: "service", serviceName: "o0", servicePort: 80, algorithm: "random" },
      { name: "far", type: "network", address: "http://far.example.org" },
      { name: "lb", type: "lb", algorithm: "random", endpoints: ["http://e.example.org"] },
    ],
    defaultBackends: [{ backendName: "own", weight: 1 }],
    routes: [
      {
        path: "/p",
        methods: ["GET"],
        filters: ['setPath("/y")'],
        predicates: ['Header("A", "b")'],
        backends: [{ backendName: "far" }],
      },
      { pathRegexp: "^/r", backends: [{ backendName: "lb", weight: 3 }] },
    ],
  },
};

void describe("eskip of a hostile object", () => {
  for (const [kind, name, object] of [
    [ingressKind, "rich", richIngress],
    [routeGroupKind, "rich", richGroup],
    [sliceKind, "slice", chosenObject({ kind: 1, which: 0, variant: 3 })],
    [serviceKind, "o0", chosenObject({ kind: 0, which: 0, variant: 0 })],
  ] as const) {
    void test(`holds no route but that of the object, whichever field is hostile: ${kind.kind}`, async () => {
      const world = new JoinedWorld();
      put(world, serviceKind, "o0", chosenObject({ kind: 0, which: 0, variant: 0 }));
      put(world, ingressKind, "bystander", ingress("by.example.org", "o0"));
      if (kind !== ingressKind) put(world, ingressKind, "rich", richIngress);
      let tried = 0;
      for (const hostile of hostileTexts) {
        for (const one of replaced(JSON.parse(JSON.stringify(object)), hostile)) {
          put(world, kind, name, one as object);
          tried++;
          const { status, text, headers } = await world.get("/views/routes");
          assert.equal(status, 200, text);
          checkRoutes(text, Number(headers["x-count"]), JSON.stringify(one));
        }
      }
      assert.ok(tried > 50, `${tried} objects`);
      await world.stop();
    });
  }
});

/** Every line is a route, of an object or of a host, and the bystander's is one of them. */
function checkRoutes(text: string, count: number, told: string): void {
  const lines = text.split("\n").slice(0, -1);
  assert.equal(lines.length, count, told);
  for (const line of lines) {
    const routes = parseRoutes(line);
    assert.equal(routes.length, 1, `${told}\n${line}`);
    assert.match(routes[0]?.id ?? "", /^kube(ew)?_(shop__|_catchall|rg__)/, told);
  }
  assert.ok(
    lines.some((line) => line.startsWith("kube_shop__bystander__")),
    `${told}\n${text}`,
  );
}

const declared = `
  - name: web
    resource: services
    joins:
      - {as: slices, resource: endpointslices, label: kubernetes.io/service-name}
      - {as: tls, resource: secrets, label: of}
      - {as: routes, resource: ingresses, field: ".spec.rules[*].http.paths[*].backend.service.name"}
`;

void describe("a row that joins too much", () => {
  void test("is left out and counted, its neighbours stay, and it is back when it joins less", async () => {
    const limits = { joinedWeightMax: 200, rowLengthMax: 40_000 };
    const world = new JoinedWorld({ limits });
    const slice = (endpoints: number, name: string): object => ({
      metadata: { labels: { "kubernetes.io/service-name": name } },
      ports: [{ name: "", port: 8080 }],
      endpoints: Array.from({ length: endpoints }, (_, at) => ({ addresses: [`10.0.0.${at}`] })),
    });
    for (const name of ["big", "small"]) {
      putService(world, name);
      put(world, ingressKind, name, ingress(`${name}.org`, name));
      put(world, sliceKind, name, slice(3, name));
    }
    const ids = async (): Promise<readonly string[]> => {
      const { text } = await world.get("/views/routes");
      return text.split("\n").flatMap((line) => /^kube_shop__(\w+?)__/.exec(line)?.[1] ?? []);
    };
    assert.deepEqual(await ids(), ["big", "small"]);
    put(world, sliceKind, "big", slice(300, "big"));
    assert.deepEqual(await ids(), ["small"]);
    assert.equal(world.metric("relay_view_failures_total"), 1);
    put(world, sliceKind, "big", slice(2, "big"));
    put(world, ingressKind, "small", ingress("small.org", "small", `/${"x".repeat(50_000)}`));
    assert.deepEqual(await ids(), ["big"]);
    put(world, ingressKind, "small", ingress("small.org", "small"));
    assert.deepEqual(await ids(), ["big", "small"]);
    await world.stop();
  });
});

void describe("one key that 100,000 rows look at", () => {
  const rows = 100_000;
  const portion = 500;

  /** A plan of one row per object, which looks at one key, and the rows made since the last portion. */
  function crowded(): { readonly table: JoinTable; readonly made: { count: number } } {
    const made = { count: 0 };
    const plan: JoinPlan = {
      inputs: [
        { indexes: 0, project: (object) => ({ value: object.name, keys: [], weight: 1 }) },
        { indexes: 1, project: (object) => ({ value: object.bytes, keys: [["k"]], weight: 1 }) },
      ],
      makers: [0],
      make: (_, value, lookup) => {
        made.count++;
        const id = String(value);
        const text = `${id} ${String(lookup.find(1, 0, "k")[0])}`;
        const row = { id, place: id, text, change: text, identity: id };
        return { rows: [row], shares: [{ group: "all", value: "same" }] };
      },
      group: (name, shares) => {
        const text = String(shares.length);
        return [{ id: name, place: name, text, change: text, identity: name }];
      },
      fixed: [],
    };
    return { table: new JoinTable(plan, { ...relayLimits, joinedWeightMax: rows }), made };
  }

  function settled({ table, made }: ReturnType<typeof crowded>): readonly RowChange[] {
    for (;;) {
      made.count = 0;
      const changes = table.settle(portion);
      assert.ok(made.count <= portion, `${made.count} rows in one turn`);
      if (changes !== undefined) return changes;
      // What is shown meanwhile is the state before, whole.
      assert.ok(table.rows.size === 0 || table.rows.size === rows + 1);
    }
  }

  const object = (name: string, bytes: number): CachedObject =>
    ({ name, bytes }) as unknown as CachedObject;

  test("are made in turns and shown at once, whichever end of the join changes", () => {
    const crowd = crowded();
    crowd.table.put(1, "k", object("k", 1));
    for (let at = 0; at < rows; at++) crowd.table.put(0, `r${at}`, object(`r${at}`, 0));
    assert.equal(settled(crowd).length, rows + 1);
    crowd.table.put(1, "k", object("k", 2));
    assert.equal(settled(crowd).length, rows, "the group says the same");
    assert.equal(crowd.table.rows.get("r7")?.text, "r7 2");
    crowd.table.put(0, "r7", undefined);
    assert.deepEqual(
      settled(crowd).map(({ id, after }) => [id, after?.text]),
      [
        ["r7", undefined],
        ["all", String(rows - 1)],
      ],
    );
    crowd.table.put(0, "r7", object("r7", 0));
    crowd.table.put(0, "one-more", object("one-more", 0));
    settled(crowd);
    assert.equal(crowd.table.rows.get("all"), undefined, "more than may be joined");
    assert.equal(crowd.table.failures, 1);
  });
});

const exploding = ["{..image}", "{range ..image}{.image}{end}"].map(
  (text, at) => `
  - {name: text${at}, resource: widgets, text: "{.metadata.name} ${text}"}
  - name: joined${at}
    resource: widgets
    joins: [{as: maps, resource: configmaps, name: .metadata.name}]
    text: "{.metadata.name} ${text}"
`,
);
const fieldsView = `
  - {name: fields, resource: widgets, fields: {all: ["..image"], one: "..image"}}
`;

void describe("values that lie within each other", () => {
  void test("are a row that is left out, or a list that is empty; the relay goes on", async () => {
    const world = new JoinedWorld({
      views: `views:${exploding.join("")}${fieldsView}`,
      kinds: [widgetKind, mapKind],
    });
    // Each level holds the text of all below it: 500 MB as texts of 1 MB.
    let image: unknown = "x".repeat(2 ** 20);
    for (let depth = 0; depth < 500; depth++) image = { image };
    put(world, widgetKind, "deep", { spec: { image } });
    put(world, widgetKind, "flat", { spec: { image: "small" } });
    for (const at of [0, 1]) {
      for (const view of [`text${at}`, `joined${at}`]) {
        const { status, text } = await world.get(`/views/${view}`);
        assert.equal(status, 200);
        assert.ok(text.includes("flat"), view);
        assert.ok(!text.includes("deep"), view);
      }
    }
    const { json } = await world.get("/views/fields");
    const rows = (json.items ?? []) as unknown as readonly {
      readonly name: string;
      readonly fields: { readonly all: readonly unknown[] };
    }[];
    assert.deepEqual(
      rows.map(({ name, fields }) => [name, fields.all.length]),
      [
        ["deep", 0],
        ["flat", 1],
      ],
    );
    await world.stop();
  });
});

void describe("a Secret in a view", () => {
  const told = [".tls[*]", ".tls[*].data.key", ".tls[*].metadata.annotations", ".tls[*]..key"];
  const texts = told.map((path) => `{range .joins${path}}{@}{end}`).join(" ");
  const views = `views:${declared}    text: "{.metadata.name}: ${texts}"
  - name: of
    resource: secrets
    joins: [{as: maps, resource: configmaps, name: .data.key}]
    fields: {data: [".data.*"], all: ["..key"], whole: ["."], maps: [".joins.maps[*].metadata.name"]}
  - name: oracle
    resource: configmaps
    joins: [{as: secrets, resource: secrets, field: .data.key, value: .data.guess}]
    fields: {found: [".joins.secrets[*].metadata.name"]}
`;

  void test("shows that it is there, and nothing that is in it, whatever the paths ask for", async () => {
    const world = new JoinedWorld({ views, kinds: [secretKind, mapKind] });
    const key = "c2VjcmV0";
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": key };
    const metadata = { labels: { of: "web" }, annotations };
    put(world, serviceKind, "web", { spec: {} });
    put(world, secretKind, "web-tls", { metadata, type: "x", data: { key }, stringData: { key } });
    put(world, mapKind, key.toLowerCase(), { data: { guess: key } });
    const web = await world.get("/views/web");
    assert.match(web.text, /web-tls/, "it is joined");
    const of = await world.get("/views/of");
    assert.match(of.text, /web-tls/);
    const oracle = await world.get("/views/oracle");
    assert.match(oracle.text, /"found":\[\]/, "no value can be guessed by a join");
    for (const { status, text } of [web, of]) {
      assert.equal(status, 200);
      assert.ok(!text.includes(key), text);
    }
    await world.stop();
  });

  void test("makes a view that cannot be public, joined or alone", () => {
    const [alone] = parseViewFile("views: [{name: a, resource: secrets, public: true}]");
    const [joined] = parseViewFile(`views:${declared}    text: x\n    public: true`);
    assert(alone !== undefined && joined !== undefined);
    assert.throws(() => definitionOn(secretKind, alone), /it shows secrets/);
    assert.throws(() => checkJoined(joined, [serviceKind, secretKind]), /it shows secrets/);
  });
});

void describe("a reader with a part of the rights", () => {
  const ways = [
    "/views/routes",
    "/views/routes/zone",
    "/views/routes?since=1",
    "/views/routes?wait=1s",
  ];
  for (const verb of ["list", "watch"]) {
    for (const { resource } of routedKinds) {
      void test(`reads nothing of a joined view: all but ${verb} of ${resource}`, async () => {
        const isRefused = (right: { verb?: string; resource?: string }): boolean =>
          right.verb === verb && right.resource === resource;
        const world = new JoinedWorld({ isRefused });
        putService(world, "web");
        put(world, ingressKind, "web", ingress("secret.example.org", "web"));
        for (const way of ways) {
          for (const headers of [{}, { "if-none-match": "*" }, { accept: "text/event-stream" }]) {
            const { status, text } = await world.get(way, headers as Record<string, string>);
            assert.equal(status, 403, `${way} ${text}`);
            assert.ok(!text.includes("secret_example_org"), text);
          }
        }
        await world.stop();
      });
    }
  }

  void test("loses an open stream when one right is taken away", async () => {
    const world = new JoinedWorld({ limits: { allowedMs: 1_000, reviewStreamsMs: 2_000 } });
    putService(world, "web");
    put(world, ingressKind, "web", ingress("a.example.org", "web"));
    const stream = await world.events("/views/routes");
    assert.match(stream.text, /a_example_org/);
    world.isRefused = ({ resource }) => resource === "endpointslices";
    for (let round = 0; round < 10 && !stream.ended; round++) await world.clock.advance(2_000);
    assert.ok(stream.ended);
    put(world, ingressKind, "web", ingress("b.example.org", "web"));
    await world.flow();
    assert.doesNotMatch(stream.text, /b_example_org/);
    await world.stop();
  });
});

void describe("a public view", () => {
  const views = `
views:
  - {name: routes, shipped: skipper-routes, path: /routes, public: true}
  - {name: private, resource: configmaps, text: "{.data.v}"}
`;

  void test("is read without credentials, and nothing beside it is", async () => {
    const world = new JoinedWorld({ views, kinds: [mapKind], isRefused: () => true });
    putService(world, "web");
    put(world, ingressKind, "web", ingress("a.example.org", "web"));
    put(world, mapKind, "m", { data: { v: "hidden" } });
    for (const headers of [{}, { authorization: "Bearer bad" }, { "impersonate-user": "root" }]) {
      for (const path of ["/routes", "/views/routes", "/routes/zone"]) {
        const { status, text } = await world.get(path, headers as Record<string, string>, nobody);
        assert.equal(status, 200, path);
        assert.match(text, /a_example_org/);
      }
    }
    assert.deepEqual(world.asked, [], "no right is asked for");
    for (const path of [
      "/views/private",
      "/routes/../views/private",
      "/routes/%2e%2e/views/private",
      "/routes//views/private",
      "/routes/zone/x",
      "/views/routes/zone/x",
      "/routesx",
      "/Routes",
      "/etag/api/v1/configmaps",
      "/api/v1/configmaps",
      "/relay/audit",
    ]) {
      // What is no view is the upstream's to answer, as to any caller without credentials.
      const { status, text } = await world.get(path, {}, nobody);
      assert.ok(status >= 400 || text.includes('"items":[]'), `${path}: ${status} ${text}`);
      assert.doesNotMatch(text, /hidden|a_example_org/, path);
    }
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]) {
      const { status } = await world.send(method, "/routes", {}, nobody);
      assert.equal(status, 405, method);
    }
    await world.stop();
  });
});
