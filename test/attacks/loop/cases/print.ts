/** Tables of one large object, and its other encodings. */
import { type Api, type Attack, json } from "../attack.ts";

const core = "/api/v1/namespaces/default";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

function list<T>(count: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

interface Printed {
  readonly name: string;
  readonly path: string;
  readonly object: object;
}

const printed: readonly Printed[] = [
  {
    name: "an Endpoints of 5,000 addresses",
    path: `${core}/endpoints`,
    object: {
      subsets: [
        {
          addresses: list(5000, (i) => ({ ip: `10.1.${i >> 8}.${i & 255}` })),
          ports: [{ port: 80 }],
        },
      ],
    },
  },
  {
    name: "an Ingress of 4,000 hosts",
    path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    object: { spec: { rules: list(4000, (i) => ({ host: `h${i}.example.com` })) } },
  },
  {
    name: "a pod of 2,000 containers",
    path: `${core}/pods`,
    object: { spec: { containers: list(2000, (i) => ({ name: `c${i}`, image: "i" })) } },
  },
  {
    name: "a ConfigMap of 4,000 keys",
    path: `${core}/configmaps`,
    object: { data: Object.fromEntries(list(4000, (i) => [`k${i}`, ""])) },
  },
  {
    name: "a deployment whose selector has 20,000 values",
    path: "/apis/apps/v1/namespaces/default/deployments",
    object: {
      spec: {
        replicas: 0,
        selector: {
          matchExpressions: [
            { key: "app", operator: "NotIn", values: list(20_000, (i) => `v${i}`) },
          ],
        },
        template: {
          metadata: { labels: { app: "x" } },
          spec: { containers: [{ name: "c", image: "i" }] },
        },
      },
    },
  },
];

export const printAttacks: readonly Attack[] = printed.map(({ name, path, object }, at) => {
  const target = `${path}/printed-${at}`;
  return {
    name: `${name} as a table, YAML and protobuf`,
    prepare: (plane: Api) =>
      plane.send({
        method: "POST",
        path,
        contentType: json,
        body: () => JSON.stringify({ metadata: { name: `printed-${at}` }, ...object }),
      }),
    requests: [
      { method: "GET", path: target, headers: table },
      { method: "GET", path, headers: { accept: `${table.accept},application/json` } },
      { method: "GET", path: target, headers: { accept: "application/yaml" } },
      { method: "GET", path: target, headers: { accept: "application/vnd.kubernetes.protobuf" } },
      { method: "GET", path: `${target}?pretty=true` },
    ],
    expect: 200,
  };
});
