/** Objects that controllers of the same process work on: templates, owners, selectors, quotas, metrics. */
import { type Attack, type AttackRequest, json } from "../attack.ts";

const core = "/api/v1/namespaces/default";
const apps = "/apis/apps/v1/namespaces/default";
const batch = "/apis/batch/v1/namespaces/default";

function list<T>(count: number, item: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

/** What is made, then requests between which the controllers do what they have to. */
function made(name: string, path: string, object: () => object): Attack {
  const create: AttackRequest = {
    method: "POST",
    path,
    contentType: json,
    body: () =>
      JSON.stringify({ metadata: { name: name.replaceAll(/[^a-z]+/g, "-") }, ...object() }),
  };
  const waits = list(40, () => ({ method: "GET", path: "/api/v1/namespaces/default" }));
  return { name, requests: [create, ...waits], expect: [200, 201] };
}

const env = list(4000, (i) => ({ name: `A${i}`, value: "b" }));
const labels = { app: "x" };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: "c", image: "i", env }] },
};
const once = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
const selector = { matchLabels: labels };

export const controlAttacks: readonly Attack[] = [
  made("deployment of a large template", `${apps}/deployments`, () => ({
    spec: { replicas: 3, selector, template },
  })),
  made("stateful set of a large template", `${apps}/statefulsets`, () => ({
    spec: { replicas: 1, serviceName: "s", selector, template },
  })),
  made("daemon set of a large template", `${apps}/daemonsets`, () => ({
    spec: { selector, template },
  })),
  made("job of a large template", `${batch}/jobs`, () => ({ spec: { template: once } })),
  made("cron job of a large template", `${batch}/cronjobs`, () => ({
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template: once } } },
  })),
  made(
    "autoscaler of many metrics",
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    () => ({
      spec: {
        maxReplicas: 2,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        metrics: list(3000, (i) => ({
          type: "External",
          external: {
            metric: { name: `m${i}` },
            target: { type: "Value", value: "1" },
          },
        })),
      },
    }),
  ),
  made("quota of many names", `${core}/resourcequotas`, () => ({
    spec: {
      hard: Object.fromEntries(list(3500, (i) => [`count/r${i}.example.com`, "1"])),
    },
  })),
  made(
    "slice of a thousand endpoints",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    () => ({
      addressType: "IPv4",
      ports: [{ port: 80 }],
      endpoints: list(1000, (i) => ({ addresses: [`10.1.${i >> 8}.${i & 255}`] })),
    }),
  ),
  made("ingress of many paths", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", () => ({
    spec: {
      rules: list(2000, (i) => ({
        host: `h${i}.example.com`,
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "s", port: { number: 80 } } },
            },
          ],
        },
      })),
    },
  })),
  made("service of many ports", `${core}/services`, () => ({
    spec: { selector: labels, ports: list(2000, (i) => ({ name: `p${i}`, port: i + 1 })) },
  })),
];
