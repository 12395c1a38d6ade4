/** Services that change their type, one field of the old type said or left out: what is kept, dropped and refused. */
import { get, patch, post, put, type Case, type Step, type Suite } from "../exchange.ts";

const services = "/api/v1/namespaces/{ns}/services";
const types = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] as const;
type Type = (typeof types)[number];

const own: Readonly<Record<Type, object>> = {
  ClusterIP: {},
  NodePort: { externalTrafficPolicy: "Local" },
  LoadBalancer: {
    externalTrafficPolicy: "Local",
    loadBalancerClass: "a.b/c",
    loadBalancerSourceRanges: ["192.0.2.0/24"],
    allocateLoadBalancerNodePorts: true,
  },
  ExternalName: { externalName: "a.b" },
};

function made(type: Type): Step {
  const spec = {
    type,
    ports: [{ name: "a", port: 80 }],
    sessionAffinity: "ClientIP",
    ...(type === "ExternalName" ? { sessionAffinity: "None" } : {}),
    ...own[type],
  };
  return post(services, { metadata: { name: type.toLowerCase() }, spec });
}

function changes(from: Type): Case {
  const path = `${services}/${from.toLowerCase()}`;
  const others = types.filter((to) => to !== from);
  return {
    name: `from ${from}`,
    steps: [
      made(from),
      get(path),
      ...others.flatMap((to) => [
        patch("merge", `${path}?dryRun=All`, {
          spec: { type: to, externalName: to === "ExternalName" ? "a.b" : "" },
        }),
        put(`${path}?dryRun=All`, {
          metadata: { name: from.toLowerCase() },
          spec: { type: to, ports: [{ name: "a", port: 80 }], ...own[to] },
        }),
        patch("merge", `${path}?dryRun=All`, {
          spec: {
            type: to,
            clusterIP: null,
            clusterIPs: null,
            ipFamilies: null,
            ipFamilyPolicy: null,
          },
        }),
      ]),
    ],
  };
}

const odd: Case = {
  name: "fields of other types",
  steps: [
    ...types.flatMap((type) =>
      [
        { clusterIP: "None" },
        { clusterIP: "" },
        { internalTrafficPolicy: "Local" },
        { externalTrafficPolicy: "Local" },
        { healthCheckNodePort: 30999 },
        { loadBalancerClass: "a.b/c" },
        { allocateLoadBalancerNodePorts: false },
        { sessionAffinity: "None", sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
        { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
        { externalName: "c.d" },
        { publishNotReadyAddresses: true },
      ].map((field) =>
        post(`${services}?dryRun=All`, {
          metadata: { name: "s" },
          spec: {
            type,
            ports: [{ port: 80 }],
            ...(type === "ExternalName" ? own[type] : {}),
            ...field,
          },
        }),
      ),
    ),
    post(services, {
      metadata: { name: "n" },
      spec: { type: "ExternalName", externalName: "a.b" },
    }),
    patch("merge", `${services}/n`, { spec: { internalTrafficPolicy: "Cluster" } }),
    patch("merge", `${services}/n/status`, {
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
    }),
    patch("merge", `${services}/n`, { metadata: { labels: { a: "b" } } }),
  ],
};

export const serviceTypes: Suite = { name: "services", cases: [...types.map(changes), odd] };
