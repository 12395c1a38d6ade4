/** Resizes of whole pods: what the resize subresource takes and refuses of pod-level resources. */
import { given } from "#base/given.ts";
import { get, patch, post, type Case, type Suite } from "../exchange.ts";

const pods = "/api/v1/namespaces/{ns}/pods";
const resize = `${pods}/p/resize?dryRun=All`;

function pod(resources: object | undefined, own: object = {}): object {
  const container = { name: "c", image: "i", resources: own };
  const spec = { containers: [container], ...given({ resources }) };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
}

const whole = {
  requests: { cpu: "100m", memory: "64Mi" },
  limits: { cpu: "200m", memory: "128Mi" },
};

const changes: readonly object[] = [
  { requests: { cpu: "150m" } },
  { requests: { cpu: "300m" } },
  { limits: { cpu: "400m", memory: "64Mi" } },
  { limits: { memory: "32Mi" } },
  { requests: { cpu: null } },
  { limits: { cpu: null } },
  { requests: null, limits: null },
  { requests: { storage: "1Gi" } },
  { requests: { "hugepages-2Mi": "2Mi" }, limits: { "hugepages-2Mi": "2Mi" } },
  { requests: { cpu: "-1" } },
];

const level: Case = {
  name: "pod-level resources",
  steps: [
    post(pods, pod(whole)),
    ...changes.map((resources) => patch("merge", resize, { spec: { resources } })),
    patch("merge", resize, { spec: { resources: null } }),
    patch("strategic", resize, {
      spec: { containers: [{ name: "c", resources: { limits: { cpu: "300m" } } }] },
    }),
    patch("merge", `${pods}/p/resize`, { spec: { resources: { limits: { cpu: "400m" } } } }),
    get(`${pods}/p`),
  ],
};

const added: Case = {
  name: "pod-level resources added later",
  steps: [
    post(pods, pod(undefined, whole)),
    patch("merge", resize, { spec: { resources: whole } }),
    patch("merge", resize, { spec: { resources: { limits: { cpu: "1" } } } }),
  ],
};

export const resizes: Suite = { name: "resizes", cases: [level, added] };
