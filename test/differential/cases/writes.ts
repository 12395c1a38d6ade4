/** Creating, replacing, patching and deleting: options, conditions and refusals. */
import { get, patch, post, put, remove, type Case, type Suite } from "../exchange.ts";

const maps = "/api/v1/namespaces/{ns}/configmaps";
const pods = "/api/v1/namespaces/{ns}/pods";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";

const map = (name: string, more: object = {}, data: object = { k: "v" }): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data,
});
const pod = (name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...more },
  spec: { containers: [{ name: "c", image: "nginx" }] },
});
const deployment = (name: string, more: object = {}): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: { containers: [{ name: "c", image: "nginx", ports: [{ containerPort: 80 }] }] },
    },
    ...more,
  },
});
const save = { rv: "metadata.resourceVersion", uid: "metadata.uid" };
const finalizer = ["example.com/f"];
const options = (fields: object): object => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  ...fields,
});

const create: readonly Case[] = [
  {
    name: "create: metadata the server owns",
    steps: [
      post(
        maps,
        map("a", {
          uid: "x",
          creationTimestamp: "2020-01-01T00:00:00Z",
          selfLink: "/x",
          generation: 7,
          deletionTimestamp: "2020-01-01T00:00:00Z",
          deletionGracePeriodSeconds: 3,
        }),
      ),
      post(maps, map("b", { resourceVersion: "5" })),
      post(maps, map("c", { namespace: "other" })),
      post(maps, map("d", { namespace: "{ns}" })),
      post(
        maps,
        map("e", {
          ownerReferences: [
            { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" },
            { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" },
          ],
        }),
      ),
      post(
        maps,
        map("f", { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "", uid: "" }] }),
      ),
      post(
        maps,
        map("g", {
          ownerReferences: [
            { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true },
            { apiVersion: "v1", kind: "Pod", name: "q", uid: "v", controller: true },
          ],
        }),
      ),
      post(maps, map("h", { finalizers: ["nodomain"] })),
      post(maps, map("i", { finalizers: ["orphan", "foregroundDeletion"] })),
      post(
        maps,
        map("j", {
          managedFields: [
            {
              manager: "x",
              operation: "Update",
              apiVersion: "v1",
              time: "2020-01-01T00:00:00Z",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:data": {} },
            },
          ],
        }),
      ),
      post(
        maps,
        map("k", {
          managedFields: [
            { manager: "x", operation: "Bad", apiVersion: "v1", fieldsType: "FieldsV2" },
          ],
        }),
      ),
      post(`${maps}?fieldManager=me`, map("l")),
      post(`${maps}?fieldManager=${"m".repeat(129)}`, map("m")),
      post(maps, map("n", { name: "a".repeat(254) })),
      post(maps, map("o", { labels: { "": "" } })),
      post(maps, map("p", { labels: { a: "b".repeat(64) } })),
      post(maps, map("q", { annotations: { a: "b".repeat(262145) } })),
    ],
  },
  {
    name: "create: generated names",
    steps: [
      post(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "gen-" } }),
      post(maps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { generateName: "gen-", name: "named" },
      }),
      post(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "Bad_" } }),
      post(maps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { generateName: `${"g".repeat(70)}-` },
      }),
      post(maps, { apiVersion: "v1", kind: "ConfigMap" }),
      post(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "" } }),
    ],
  },
  {
    name: "create: bodies that are no object",
    steps: [
      post(maps, ""),
      post(maps, "{"),
      post(maps, "[]"),
      post(maps, "null"),
      post(maps, "1"),
      post(maps, '"text"'),
      post(maps, "{}"),
      post(maps, '{"kind":"ConfigMap"}'),
      post(maps, '{"apiVersion":"v1"}'),
      post(maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} trailing'),
      post(maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":"text"}'),
      post(maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}'),
      post(maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":1}}'),
      post(maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":[]}'),
      post(
        maps,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"binaryData":{"k":"?"}}',
      ),
      post(
        maps,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"a":true}}}',
      ),
      post(
        maps,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":{"name":"c"}}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":"80"}]}]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostNetwork":"yes","containers":[]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"abc"}}}]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","creationTimestamp":"yesterday"},"spec":{"containers":[]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"terminationGracePeriodSeconds":1.5,"containers":[]}}',
      ),
      post(
        pods,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priority":99999999999,"containers":[]}}',
      ),
      post(`${maps}x`, map("a")),
      post(maps, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n", {
        type: "application/yaml",
      }),
      post(maps, "a: [", { type: "application/yaml" }),
      post(maps, map("z"), { type: "text/plain" }),
      post(maps, map("z"), { type: "application/xml" }),
      post(maps, map("z"), { type: "" }),
      post(maps, map("z2"), { type: "application/json; charset=utf-8" }),
      post(maps, map("z3"), { type: "application/json;stream=watch" }),
      post(maps, map("z4"), { headers: { accept: "text/plain" } }),
      post(maps, map("z5"), { headers: { accept: "application/xml, */*" } }),
      post(maps, map("z6"), { headers: { accept: "application/yaml" } }),
      post(maps, map("z7"), {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
      }),
      post(maps, map("z8"), {
        headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
      }),
    ],
  },
  {
    name: "create: field validation",
    steps: ["", "Ignore", "Warn", "Strict", "Other"].flatMap((mode) => {
      const query = `?dryRun=All${mode === "" ? "" : `&fieldValidation=${mode}`}`;
      return [
        post(
          maps + query,
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","foo":1},"data":{"k":"v","k":"w"},"bar":{}}',
        ),
        post(
          pods + query,
          '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"a"},"spec":{"containers":[{"name":"c","image":"i","foo":1},{"name":"d","image":"i","Image":"j"}],"Containers":[]},"status":{"x":1}}',
        ),
        post(
          deployments + query,
          '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replica":1,"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"container":[],"containers":[{"name":"c","image":"i"}]}}}}',
        ),
        post(
          maps + query,
          "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n  a: c\nfoo: 1\n",
          { type: "application/yaml" },
        ),
      ];
    }),
  },
  {
    name: "create: query options",
    steps: [
      post(`${maps}?dryRun=All`, map("a")),
      get(`${maps}/a`),
      post(`${maps}?dryRun=Some`, map("a")),
      post(`${maps}?dryRun=All&dryRun=All`, map("a")),
      post(`${maps}?dryRun=`, map("b")),
      post(`${maps}?pretty=true`, map("c")),
      post(`${maps}?pretty=false`, map("d"), { headers: { "user-agent": "curl/8" } }),
      post(`${maps}`, map("e"), { headers: { "user-agent": "curl/8" } }),
      post(`${maps}?timeout=1s`, map("f")),
      post(`${maps}?timeout=abc`, map("g")),
      post(`${maps}?fieldManager=a%00b`, map("h")),
      post(`${maps}?unknownOption=1`, map("i")),
      post(`${maps}/j`, map("j")),
      post("/api/v1/namespaces/{ns}x/configmaps", map("k")),
      post("/api/v1/configmaps", map("l", { namespace: "{ns}" })),
      post("/api/v1/nodes", {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "{ns}", namespace: "{ns}" },
      }),
    ],
  },
];

const replace: readonly Case[] = [
  {
    name: "replace: conditions",
    steps: [
      post(maps, map("a"), { save }),
      put(`${maps}/a`, map("a", {}, { k: "2" })),
      put(`${maps}/a`, map("a", { resourceVersion: "{rv}" }, { k: "3" })),
      put(`${maps}/a`, map("a", { uid: "{uid}" }, { k: "4" })),
      put(`${maps}/a`, map("a", { uid: "other" }, { k: "4" })),
      put(`${maps}/a`, map("a", { resourceVersion: "abc" })),
      put(`${maps}/a`, map("a", { resourceVersion: "0" })),
      put(`${maps}/a`, map("b")),
      put(`${maps}/a`, map("")),
      put(`${maps}/a`, { apiVersion: "v1", kind: "ConfigMap", data: {} }),
      put(`${maps}/a`, map("a", { namespace: "other" })),
      put(`${maps}/a`, map("a", { creationTimestamp: "2020-01-01T00:00:00Z" }, { k: "4" })),
      put(
        `${maps}/a`,
        map("a", { generation: 5, deletionTimestamp: "2020-01-01T00:00:00Z" }, { k: "4" }),
      ),
      put(`${maps}/a?dryRun=All`, map("a", {}, { k: "9" })),
      get(`${maps}/a`),
      put(`${maps}/missing`, map("missing")),
      put(`${maps}/missing`, map("missing", { uid: "x" })),
      put(`${maps}/missing`, map("missing", { resourceVersion: "1" })),
      put(`${maps}/a`, "{"),
      put(`${maps}/a`, map("a"), { type: "text/plain" }),
      put(`${maps}/a?fieldManager=other`, map("a", {}, { k: "5", l: "6" })),
      put(maps, map("a")),
    ],
  },
  {
    name: "replace: immutable and create on update",
    steps: [
      post(maps, { ...map("a"), immutable: true }),
      put(`${maps}/a`, { ...map("a", {}, { k: "2" }), immutable: true }),
      put(`${maps}/a`, map("a")),
      put("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: {},
      }),
      put("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: { holderIdentity: "x" },
      }),
      put("/api/v1/namespaces/{ns}/endpoints/e", {
        apiVersion: "v1",
        kind: "Endpoints",
        metadata: { name: "e" },
      }),
      put("/api/v1/namespaces/{ns}/limitranges/e", {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "e" },
        spec: { limits: [] },
      }),
      put("/api/v1/namespaces/{ns}/services/e", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "e" },
        spec: { ports: [{ port: 1 }] },
      }),
      put("/api/v1/namespaces/{ns}/events/e", {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e", namespace: "{ns}" },
        involvedObject: { namespace: "{ns}" },
      }),
      post(pods, pod("p")),
      put(`${pods}/p`, { ...pod("p"), spec: { containers: [{ name: "c", image: "other" }] } }),
      put(`${pods}/p`, {
        ...pod("p"),
        spec: { nodeName: "n", containers: [{ name: "c", image: "other", command: ["x"] }] },
      }),
      post(deployments, deployment("d")),
      put(`${deployments}/d`, deployment("d", { replicas: 5 })),
      put(`${deployments}/d`, deployment("d", { selector: { matchLabels: { app: "b" } } })),
      put(`${deployments}/d`, deployment("d", { replicas: 5 })),
      get(`${deployments}/d`),
    ],
  },
];

const patches: readonly Case[] = [
  {
    name: "patch: json",
    steps: [
      post(maps, map("a", { labels: { "x/y": "1" } }), { save }),
      patch("json", `${maps}/a`, [{ op: "add", path: "/data/n", value: "1" }]),
      patch("json", `${maps}/a`, [
        { op: "test", path: "/data/n", value: "1" },
        { op: "replace", path: "/data/n", value: "2" },
      ]),
      patch("json", `${maps}/a`, [{ op: "test", path: "/data/n", value: "x" }]),
      patch("json", `${maps}/a`, [{ op: "test", path: "/data/q", value: "x" }]),
      patch("json", `${maps}/a`, [{ op: "remove", path: "/data/q" }]),
      patch("json", `${maps}/a`, [{ op: "remove", path: "/metadata/labels/x~1y" }]),
      patch("json", `${maps}/a`, [{ op: "replace", path: "/data/q", value: "1" }]),
      patch("json", `${maps}/a`, [{ op: "add", path: "/nope/q", value: "1" }]),
      patch("json", `${maps}/a`, [{ op: "move", from: "/data/n", path: "/data/m" }]),
      patch("json", `${maps}/a`, [{ op: "copy", from: "/data/m", path: "/data/n" }]),
      patch("json", `${maps}/a`, [{ op: "move", from: "/data/zz", path: "/data/m" }]),
      patch("json", `${maps}/a`, [{ op: "copy", from: "/data/zz", path: "/data/m" }]),
      patch("json", `${maps}/a`, [{ op: "bad", path: "/data/m" }]),
      patch("json", `${maps}/a`, [{ op: "add" }]),
      patch("json", `${maps}/a`, [{}]),
      patch("json", `${maps}/a`, []),
      patch("json", `${maps}/a`, {}),
      patch("json", `${maps}/a`, "["),
      patch("json", `${maps}/a`, [{ op: "add", path: "/data/num", value: 1 }]),
      patch("json", `${maps}/a`, [{ op: "add", path: "/unknown", value: 1 }]),
      patch("json", `${maps}/a?fieldValidation=Strict`, [
        { op: "add", path: "/unknown", value: 1 },
      ]),
      patch("json", `${maps}/a`, [{ op: "replace", path: "/metadata/name", value: "b" }]),
      patch("json", `${maps}/a`, [{ op: "replace", path: "/metadata/uid", value: "b" }]),
      patch("json", `${maps}/a`, [
        { op: "replace", path: "/metadata/resourceVersion", value: "1" },
      ]),
      patch("json", `${maps}/a`, [{ op: "replace", path: "/kind", value: "Pod" }]),
      patch("json", `${maps}/a`, [{ op: "replace", path: "", value: {} }]),
      patch("json", `${maps}/a`, [
        { op: "add", path: "/metadata/finalizers", value: ["a.b/c"] },
        { op: "add", path: "/metadata/finalizers/-", value: "a.b/d" },
        { op: "add", path: "/metadata/finalizers/9", value: "a.b/e" },
      ]),
      patch("json", `${maps}/a`, [
        { op: "add", path: "/metadata/finalizers", value: ["a.b/c"] },
        { op: "add", path: "/metadata/finalizers/0", value: "a.b/d" },
      ]),
      patch("json", `${maps}/a`, [{ op: "remove", path: "/metadata/finalizers/7" }]),
      patch("json", `${maps}/a`, [{ op: "remove", path: "/metadata/finalizers" }]),
      patch("json", `${maps}/missing`, [{ op: "add", path: "/data/n", value: "1" }]),
      get(`${maps}/a`),
    ],
  },
  {
    name: "patch: merge",
    steps: [
      post(deployments, deployment("d"), { save }),
      patch("merge", `${deployments}/d`, { spec: { replicas: 3 } }),
      patch("merge", `${deployments}/d`, { spec: { replicas: 3 } }),
      patch("merge", `${deployments}/d`, {
        metadata: { resourceVersion: "{rv}" },
        spec: { replicas: 4 },
      }),
      patch("merge", `${deployments}/d`, { metadata: { uid: "other" } }),
      patch("merge", `${deployments}/d`, { metadata: { name: "other" } }),
      patch("merge", `${deployments}/d`, { metadata: { annotations: { a: "1", b: "2" } } }),
      patch("merge", `${deployments}/d`, { metadata: { annotations: { a: null } } }),
      patch("merge", `${deployments}/d`, {
        spec: { template: { spec: { containers: [{ name: "x", image: "y" }] } } },
      }),
      patch("merge", `${deployments}/d`, { spec: { template: { spec: { containers: null } } } }),
      patch("merge", `${deployments}/d`, { spec: null }),
      patch("merge", `${deployments}/d`, { spec: { replicas: "3" } }),
      patch("merge", `${deployments}/d`, { spec: { replicas: -1 } }),
      patch("merge", `${deployments}/d`, { spec: { nope: 1 } }),
      patch("merge", `${deployments}/d?fieldValidation=Strict`, { spec: { nope: 1 } }),
      patch("merge", `${deployments}/d`, { status: { replicas: 7 } }),
      patch("merge", `${deployments}/d/status`, { status: { replicas: 7 }, spec: { replicas: 9 } }),
      patch("merge", `${deployments}/d`, "[]"),
      patch("merge", `${deployments}/d`, "{"),
      patch("merge", `${deployments}/d`, "null"),
      patch("merge", `${deployments}/d`, ""),
      patch("merge", `${deployments}/d?dryRun=All`, { spec: { replicas: 8 } }),
      patch("merge", `${deployments}/d?force=true`, { spec: { replicas: 8 } }),
      patch("merge", `${deployments}/d?fieldManager=other`, { spec: { replicas: 8 } }),
      get(`${deployments}/d`),
    ],
  },
  {
    name: "patch: strategic",
    steps: [
      post(deployments, deployment("d"), { save }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { containers: [{ name: "c", image: "nginx:2" }] } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { containers: [{ name: "side", image: "s" }] } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { containers: [{ name: "side", $patch: "delete" }] } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "c",
                  env: [
                    { name: "A", value: "1" },
                    { name: "B", value: "2" },
                  ],
                },
              ],
            },
          },
        },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "c",
                  env: [{ name: "A", $patch: "delete" }],
                  ports: [{ containerPort: 81 }],
                },
              ],
            },
          },
        },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { $setElementOrder: 1 } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: {
          template: {
            spec: {
              "$setElementOrder/containers": [{ name: "c" }],
              containers: [{ name: "c", image: "nginx:3" }],
            },
          },
        },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { containers: [{ image: "nokey" }] } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } },
      }),
      patch("strategic", `${deployments}/d`, { spec: { strategy: { type: "RollingUpdate" } } }),
      patch("strategic", `${deployments}/d`, {
        spec: {
          template: { spec: { containers: [{ $patch: "replace" }, { name: "only", image: "o" }] } },
        },
      }),
      patch("strategic", `${deployments}/d`, {
        metadata: { "$deleteFromPrimitiveList/finalizers": ["x"], finalizers: ["a.b/c"] },
      }),
      patch("strategic", `${deployments}/d`, {
        metadata: { "$deleteFromPrimitiveList/finalizers": ["a.b/c"] },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { spec: { containers: "text" } } },
      }),
      patch("strategic", `${deployments}/d`, {
        spec: { template: { metadata: { $patch: "bad" } } },
      }),
      patch("strategic", `${deployments}/d`, { nope: 1 }),
      patch("strategic", `${deployments}/d?fieldValidation=Strict`, { nope: 1 }),
      patch("strategic", `${deployments}/d`, "[]"),
      patch("strategic", `${deployments}/d`, "{"),
      get(`${deployments}/d`),
    ],
  },
  {
    name: "patch: content types",
    steps: [
      post(maps, map("a")),
      patch("json", `${maps}/a`, "{}", { type: "application/json" }),
      patch("json", `${maps}/a`, "{}", { type: "text/plain" }),
      patch("json", `${maps}/a`, "{}", { type: "" }),
      patch("json", `${maps}/a`, "{}", { type: "application/merge-patch+json; charset=utf-8" }),
      patch("json", maps, "{}", { type: "application/merge-patch+json" }),
      patch("merge", "/api/v1/namespaces/{ns}/pods/x/log", {}),
      patch("merge", "/api/v1/namespaces/{ns}/pods/x/binding", {}),
      patch("apply", `${maps}/a`, map("a")),
    ],
  },
];

const apply: readonly Case[] = [
  {
    name: "apply: conflicts and ownership",
    steps: [
      patch("apply", `${deployments}/d?fieldManager=one`, deployment("d", { replicas: 1 })),
      patch("apply", `${deployments}/d?fieldManager=one`, deployment("d", { replicas: 1 })),
      patch("apply", `${deployments}/d?fieldManager=two`, deployment("d", { replicas: 2 })),
      patch(
        "apply",
        `${deployments}/d?fieldManager=two&force=true`,
        deployment("d", { replicas: 2 }),
      ),
      patch("apply", `${deployments}/d?fieldManager=one`, deployment("d")),
      patch("merge", `${deployments}/d`, { spec: { replicas: 5 } }),
      patch("apply", `${deployments}/d?fieldManager=two`, deployment("d", { replicas: 2 })),
      patch("apply", `${deployments}/d?fieldManager=two`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
      }),
      patch("apply", `${deployments}/d?fieldManager=one`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
      }),
      patch("apply", `${deployments}/d?fieldManager=one`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d", labels: { a: "b" } },
      }),
      patch("apply", `${deployments}/d?fieldManager=one`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
      }),
      put(`${deployments}/d`, deployment("d", { replicas: 9 })),
      patch("apply", `${deployments}/d/status?fieldManager=st`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        status: { replicas: 3, conditions: [{ type: "Available", status: "True" }] },
      }),
      patch("apply", `${deployments}/d/status?fieldManager=st2`, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        status: { replicas: 4 },
      }),
      get(`${deployments}/d`),
    ],
  },
  {
    name: "apply: refusals",
    steps: [
      patch("apply", `${maps}/a`, map("a")),
      patch("apply", `${maps}/a?fieldManager=one`, map("b")),
      patch("apply", `${maps}/a?fieldManager=one`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        data: {},
      }),
      patch("apply", `${maps}/a?fieldManager=one`, { data: {} }),
      patch("apply", `${maps}/a?fieldManager=one`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a" },
      }),
      patch("apply", `${maps}/a?fieldManager=one`, {
        apiVersion: "v2",
        kind: "ConfigMap",
        metadata: { name: "a" },
      }),
      patch("apply", `${maps}/a?fieldManager=one`, "{"),
      patch("apply", `${maps}/a?fieldManager=one`, "[]"),
      patch("apply", `${maps}/a?fieldManager=one`, ""),
      patch("apply", `${maps}/a?fieldManager=one`, { ...map("a"), unknown: 1 }),
      patch("apply", `${maps}/a?fieldManager=one&fieldValidation=Strict`, {
        ...map("a"),
        unknown: 1,
      }),
      patch("apply", `${maps}/a?fieldManager=one&fieldValidation=Ignore`, {
        ...map("a"),
        unknown: 1,
      }),
      patch("apply", `${maps}/a?fieldManager=one`, map("a", { managedFields: [{ manager: "x" }] })),
      patch("apply", `${maps}/a?fieldManager=one`, map("a", { resourceVersion: "1" })),
      patch("apply", `${maps}/a?fieldManager=one`, map("a", { uid: "zz" })),
      patch("apply", `${maps}/a?fieldManager=one`, map("a", { namespace: "other" })),
      patch("apply", `${maps}/new?fieldManager=one`, map("new", { resourceVersion: "1" })),
      patch("apply", `${maps}/new?fieldManager=one`, map("new", { uid: "zz" })),
      patch("apply", `${maps}/Bad_Name?fieldManager=one`, map("Bad_Name")),
      patch("apply", `${maps}/a?fieldManager=one&force=maybe`, map("a")),
      patch("apply", `${maps}/a?fieldManager=one&dryRun=All`, map("a", {}, { k: "dry" })),
      patch("apply", `${maps}/dry?fieldManager=one&dryRun=All`, map("dry")),
      patch(
        "apply",
        `${maps}/y?fieldManager=one`,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n",
      ),
      patch(
        "apply",
        `${maps}/y?fieldManager=one`,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n  a: c\n",
      ),
      patch("apply", `${maps}/c?fieldManager=one`, map("c"), {
        type: "application/apply-patch+cbor",
      }),
      patch("apply", `${pods}/p?fieldManager=one`, {
        ...pod("p"),
        spec: {
          containers: [
            { name: "c", image: "i" },
            { name: "c", image: "j" },
          ],
        },
      }),
      patch("apply", `${pods}/p?fieldManager=one`, {
        ...pod("p"),
        spec: { containers: [{ image: "i" }] },
      }),
      patch("apply", `${pods}/p?fieldManager=one`, { ...pod("p"), spec: { containers: "x" } }),
      patch("apply", `${pods}/p?fieldManager=one`, { ...pod("p"), spec: {} }),
      patch("apply", `${pods}/p?fieldManager=one`, {
        ...pod("p"),
        spec: {
          containers: [
            {
              name: "c",
              image: "i",
              ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }],
            },
          ],
        },
      }),
      get(`${pods}/p`),
    ],
  },
  {
    name: "apply: lists, maps and sets",
    steps: [
      patch("apply", `${pods}/p?fieldManager=one`, {
        ...pod("p", { finalizers: ["a.b/c"], labels: { a: "1" } }),
        spec: {
          containers: [{ name: "c", image: "i", env: [{ name: "A", value: "1" }] }],
          tolerations: [{ key: "k", operator: "Exists" }],
        },
      }),
      patch("apply", `${pods}/p?fieldManager=two`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", finalizers: ["a.b/d"], labels: { b: "2" } },
      }),
      patch("apply", `${pods}/p?fieldManager=one`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", labels: { a: "2" } },
        spec: { containers: [{ name: "c", image: "j" }] },
      }),
      patch("merge", `${pods}/p`, { metadata: { managedFields: [] } }),
      patch("merge", `${pods}/p`, { metadata: { managedFields: [{}] } }),
      patch("merge", `${pods}/p`, { metadata: { labels: { c: "3" } } }),
      get(`${pods}/p`),
      patch("apply", "/api/v1/namespaces/{ns}/services/s?fieldManager=one", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        spec: { ports: [{ port: 80 }, { port: 80, protocol: "UDP", name: "u" }] },
      }),
      patch("apply", "/api/v1/namespaces/{ns}/services/s?fieldManager=one", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        spec: {
          ports: [
            { port: 80, name: "t" },
            { port: 80, protocol: "UDP", name: "u" },
          ],
        },
      }),
      patch("apply", "/api/v1/namespaces/{ns}/secrets/s?fieldManager=one", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s" },
        stringData: { a: "b" },
      }),
      patch("apply", "/api/v1/namespaces/{ns}/secrets/s?fieldManager=two", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s" },
        data: { a: "Yw==" },
      }),
    ],
  },
];

const deletes: readonly Case[] = [
  {
    name: "delete: options",
    steps: [
      post(maps, map("a"), { save }),
      remove(`${maps}/a`, options({ preconditions: { uid: "other" } })),
      remove(`${maps}/a`, options({ preconditions: { resourceVersion: "1" } })),
      remove(`${maps}/a`, options({ orphanDependents: true, propagationPolicy: "Orphan" })),
      remove(`${maps}/a`, options({ propagationPolicy: "Bad" })),
      remove(`${maps}/a?propagationPolicy=Bad`),
      remove(`${maps}/a?gracePeriodSeconds=abc`),
      remove(`${maps}/a`, options({ gracePeriodSeconds: "abc" })),
      remove(`${maps}/a`, options({ dryRun: ["All"] })),
      remove(`${maps}/a`, options({ dryRun: ["Some"] })),
      remove(`${maps}/a`, { kind: "Wrong", apiVersion: "v1" }),
      remove(`${maps}/a`, { kind: "DeleteOptions", apiVersion: "apps/v1", dryRun: ["All"] }),
      remove(`${maps}/a`, { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", dryRun: ["All"] }),
      remove(`${maps}/a`, { dryRun: ["All"] }),
      remove(`${maps}/a`, "{"),
      remove(`${maps}/a`, "text", { type: "text/plain" }),
      remove(`${maps}/a`, options({ unknown: 1, dryRun: ["All"] })),
      remove(`${maps}/a`, options({ preconditions: { uid: "{uid}", resourceVersion: "{rv}" } })),
      remove(`${maps}/a`),
      post(maps, map("b")),
      remove(`${maps}/b`, options({ orphanDependents: false })),
      post(maps, map("c")),
      remove(`${maps}/c`, options({ orphanDependents: true })),
      get(`${maps}/c`),
      patch("json", `${maps}/c`, [{ op: "remove", path: "/metadata/finalizers" }]),
      get(`${maps}/c`),
      post(maps, map("d")),
      remove(`${maps}/d?propagationPolicy=Foreground`),
      remove(`${maps}/d?propagationPolicy=Background`),
      get(`${maps}/d`),
      post(maps, map("d")),
      patch("merge", `${maps}/d`, { metadata: { finalizers: [] } }),
      get(`${maps}/d`),
      post(maps, map("e")),
      remove(`${maps}/e?propagationPolicy=Orphan&gracePeriodSeconds=5`),
      post(maps, map("f")),
      remove(`${maps}/f?gracePeriodSeconds=-5`),
    ],
  },
  {
    name: "delete: finalizers",
    steps: [
      post(maps, map("a", { finalizers: finalizer })),
      remove(`${maps}/a`),
      remove(`${maps}/a`),
      get(`${maps}/a`),
      patch("merge", `${maps}/a`, { data: { x: "y" } }),
      patch("merge", `${maps}/a`, { metadata: { finalizers: [...finalizer, "example.com/g"] } }),
      patch("merge", `${maps}/a`, { metadata: { deletionTimestamp: null } }),
      put(`${maps}/a`, map("a", {}, { last: "x" })),
      get(`${maps}/a`),
      post(deployments, deployment("d")),
      patch("merge", `${deployments}/d`, { metadata: { finalizers: finalizer } }),
      remove(`${deployments}/d`, options({ propagationPolicy: "Foreground" })),
      get(`${deployments}/d`),
      patch("merge", `${deployments}/d`, { metadata: { finalizers: ["foregroundDeletion"] } }),
      patch("merge", `${deployments}/d`, { metadata: { finalizers: null } }),
      get(`${deployments}/d`),
    ],
  },
  {
    name: "delete: pods and their grace",
    steps: [
      post(pods, pod("a")),
      remove(`${pods}/a`),
      get(`${pods}/a`),
      post(pods, { ...pod("b"), spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] } }),
      remove(`${pods}/b?dryRun=All`),
      remove(`${pods}/b`),
      get(`${pods}/b`),
      remove(`${pods}/b?gracePeriodSeconds=60`),
      remove(`${pods}/b?gracePeriodSeconds=5`),
      remove(`${pods}/b?gracePeriodSeconds=0`),
      get(`${pods}/b`),
      post(pods, {
        ...pod("c", { finalizers: finalizer }),
        spec: {
          nodeName: "n",
          terminationGracePeriodSeconds: 7,
          containers: [{ name: "c", image: "i" }],
        },
      }),
      remove(`${pods}/c`, options({ gracePeriodSeconds: 3 })),
      remove(`${pods}/c`, options({ gracePeriodSeconds: 0 })),
      patch("merge", `${pods}/c`, { metadata: { finalizers: null } }),
      get(`${pods}/c`),
      post(pods, {
        ...pod("d"),
        spec: {
          nodeName: "n",
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "c", image: "i" }],
        },
      }),
      remove(`${pods}/d`),
      post(pods, { ...pod("e"), spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] } }),
      remove(`${pods}/e`, options({ gracePeriodSeconds: -1 })),
    ],
  },
  {
    name: "delete: collections",
    steps: [
      post(maps, map("a", { labels: { x: "1" } })),
      post(maps, map("b", { labels: { x: "1" } })),
      post(maps, map("c", { labels: { x: "2" }, finalizers: finalizer })),
      remove(`${maps}?labelSelector=x%3D1&dryRun=All`),
      remove(`${maps}?labelSelector=x%3D1`),
      remove(`${maps}?labelSelector=x%3D2`, options({ gracePeriodSeconds: 0 })),
      remove(`${maps}?labelSelector=x%3D3`),
      remove(`${maps}?labelSelector=%21%21`),
      remove(`${maps}?fieldSelector=nope%3D1`),
      remove(`${maps}?fieldSelector=metadata.name%3Dc`, { kind: "Wrong", apiVersion: "v1" }),
      remove(`${maps}?limit=1`, options({ propagationPolicy: "Bad" })),
      get(`${maps}?labelSelector=x`),
      patch("merge", `${maps}/c`, { metadata: { finalizers: null } }),
      remove("/api/v1/namespaces/{ns}/services?labelSelector=x"),
      remove("/api/v1/configmaps"),
      remove("/api/v1/namespaces?labelSelector=x"),
      remove("/api/v1/namespaces/{ns}/bindings"),
      remove(pods),
    ],
  },
];

export const writes: Suite = {
  name: "writes",
  cases: [...create, ...replace, ...patches, ...apply, ...deletes],
};
