/**
 * Fields that say their default: kept, left out and written as stock does, in what is answered, in who owns the field
 * and in whether anything changed at all.
 */
import { get, patch, post, put, type Case, type Suite } from "../exchange.ts";

const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const services = "/api/v1/namespaces/{ns}/services";
const pods = "/api/v1/namespaces/{ns}/pods";
const labels = { a: "b" };

const spec = {
  hostNetwork: false,
  hostPID: false,
  hostIPC: false,
  hostname: "",
  nodeName: "",
  priorityClassName: "",
  serviceAccountName: "",
  nodeSelector: {},
  tolerations: [],
  imagePullSecrets: [],
  setHostnameAsFQDN: false,
  shareProcessNamespace: false,
  hostUsers: true,
  volumes: [{ name: "v", configMap: { name: "m", optional: false, items: [] } }],
  containers: [
    {
      name: "c",
      image: "i",
      tty: false,
      stdin: false,
      stdinOnce: false,
      workingDir: "",
      command: [],
      args: [],
      env: [
        { name: "e", value: "" },
        { name: "f", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
      ],
      envFrom: [],
      ports: [{ containerPort: 80, hostPort: 0, name: "", hostIP: "" }],
      volumeMounts: [{ name: "v", mountPath: "/v", readOnly: false, subPath: "" }],
      resources: { limits: {}, requests: {} },
      securityContext: { privileged: false, runAsUser: 0, capabilities: {} },
      livenessProbe: { tcpSocket: { port: 80, host: "" }, initialDelaySeconds: 0 },
    },
  ],
};
const plain = {
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
};
const said = {
  paused: false,
  minReadySeconds: 0,
  strategy: {},
  selector: { matchLabels: labels, matchExpressions: [] },
  template: { metadata: { labels, annotations: {}, name: "" }, spec },
};

/** A rollout is what a new generation means. */
const unchanged: Case = {
  name: "a default that is said changes nothing",
  steps: [
    post(deployments, { metadata: { name: "d" }, spec: plain }),
    patch("merge", `${deployments}/d`, {
      spec: { paused: false, template: { spec: { hostNetwork: false, hostname: "" } } },
    }),
    patch("strategic", `${deployments}/d`, {
      spec: { template: { spec: { containers: [{ name: "c", tty: false, workingDir: "" }] } } },
    }),
    patch("json", `${deployments}/d`, [
      { op: "add", path: "/spec/template/spec/hostPID", value: false },
    ]),
    patch("apply", `${deployments}/d?fieldManager=a&force=true`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: {
        ...plain,
        template: {
          ...plain.template,
          spec: { hostIPC: false, containers: [{ name: "c", image: "i", stdin: false }] },
        },
      },
    }),
    get(`${deployments}/d`),
    post(services, {
      metadata: { name: "s" },
      spec: { ports: [{ port: 80 }], externalName: "", loadBalancerIP: "", selector: {} },
    }),
    patch("merge", `${services}/s`, {
      spec: { externalName: "", publishNotReadyAddresses: false, healthCheckNodePort: 0 },
    }),
  ],
};

const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles";
const made: Case = {
  name: "objects whose fields say their defaults",
  steps: [
    post(deployments, { metadata: { name: "d" }, spec: said }),
    post(pods, { metadata: { name: "p", labels: {}, finalizers: [] }, spec }),
    post("/api/v1/namespaces/{ns}/configmaps", {
      metadata: { name: "m" },
      data: { a: "" },
      binaryData: {},
      immutable: false,
    }),
    post("/api/v1/namespaces/{ns}/secrets", { metadata: { name: "s" }, data: { a: "" }, type: "" }),
    post(roles, {
      metadata: { name: "r" },
      rules: [{ apiGroups: [], resources: ["a"], verbs: ["get"] }],
    }),
    post("/apis/batch/v1/namespaces/{ns}/jobs", {
      metadata: { name: "j" },
      spec: {
        suspend: false,
        manualSelector: false,
        backoffLimit: 0,
        ttlSecondsAfterFinished: 0,
        template: {
          spec: { restartPolicy: "Never", containers: spec.containers, volumes: spec.volumes },
        },
      },
    }),
    post("/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses", {
      metadata: { name: "i" },
      spec: {
        defaultBackend: { service: { name: "s", port: { number: 80, name: "" } } },
        rules: [
          {
            host: "",
            http: {
              paths: [
                {
                  path: "",
                  pathType: "ImplementationSpecific",
                  backend: { service: { name: "s", port: { name: "p" } } },
                },
              ],
            },
          },
        ],
        tls: [{ hosts: [], secretName: "" }],
      },
    }),
    post("/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", {
      metadata: { name: "n" },
      spec: { podSelector: {}, ingress: [{}], egress: [{ to: [], ports: [] }] },
    }),
    post("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers", {
      metadata: { name: "h" },
      spec: { maxReplicas: 1, scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "" } },
    }),
    post("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {
      metadata: { name: "b" },
      spec: { minAvailable: 0, selector: {} },
    }),
    post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {
      metadata: { name: "l" },
      spec: { holderIdentity: "", leaseTransitions: 0 },
    }),
    post("/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", {
      metadata: { name: "e" },
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.1"], conditions: {}, hostname: null }],
      ports: [{ name: "", port: 0, protocol: "TCP" }],
    }),
  ],
};

const status = `${pods}/p/status`;
const conditions: Case = {
  name: "fields that Go never leaves out",
  steps: [
    post(pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } }),
    patch("merge", status, {
      status: {
        phase: "",
        conditions: [{ type: "Ready", status: "False", reason: "", message: "" }],
        containerStatuses: [{ name: "c", restartCount: 0, image: "", imageID: "", ready: false }],
      },
    }),
    patch("strategic", status, { status: { hostIP: "", startTime: null } }),
    get(`${pods}/p`),
    put(`${deployments}/none`, {
      metadata: { name: "none" },
      spec: { template: { spec: { hostNetwork: "" } } },
    }),
    post(deployments, { metadata: { name: "x" }, spec: { ...plain, paused: "" } }),
  ],
};

export const zeros: Suite = { name: "zeros", cases: [unchanged, made, conditions] };
