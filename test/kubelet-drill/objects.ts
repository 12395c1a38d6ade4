/** The objects that the drill makes, as kubectl takes them: JSON. */
import { busyboxImage, coreDnsImage } from "./images.ts";
import { dnsAddress } from "./node-config.ts";

export type KubeObject = Readonly<Record<string, unknown>>;

export const namespace = "drill";
const rbac = "rbac.authorization.k8s.io";

export function list(...items: readonly KubeObject[]): KubeObject {
  return { apiVersion: "v1", kind: "List", items };
}

/** What kubeadm makes for nodes to join with a token, and for kube-proxy. */
export function joinObjects(token: { id: string; secret: string }): KubeObject {
  const group = "system:bootstrappers:drill:default-node-token";
  const requests = "system:certificates.k8s.io:certificatesigningrequests";
  const joining = { kind: "Group", name: group, apiGroup: rbac };
  const joined = { kind: "Group", name: "system:nodes", apiGroup: rbac };
  const proxy = { kind: "ServiceAccount", name: "kube-proxy", namespace: "kube-system" };
  return list(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `bootstrap-token-${token.id}`, namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        "token-id": token.id,
        "token-secret": token.secret,
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": group,
      },
    },
    binding("drill:bootstrap", "system:node-bootstrapper", joining),
    binding("drill:approve", `${requests}:nodeclient`, joining),
    binding("drill:rotate", `${requests}:selfnodeclient`, joined),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata("kube-proxy", "kube-system") },
    binding("drill:kube-proxy", "system:node-proxier", proxy),
  );
}

function binding(name: string, role: string, subject: KubeObject): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [subject],
  };
}

function metadata(name: string, inNamespace = namespace): KubeObject {
  return { name, namespace: inNamespace, labels: { app: name } };
}

const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa {
    ttl 5
  }
  cache 5
}
`;

export function dnsObjects(): KubeObject {
  const reads = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const account = { kind: "ServiceAccount", name: "coredns", namespace: "kube-system" };
  const port = (protocol: string): KubeObject => ({
    port: 53,
    protocol,
    name: `dns-${protocol.toLowerCase()}`,
  });
  const container = {
    name: "coredns",
    image: coreDnsImage,
    command: ["/coredns", "-conf", "/etc/coredns/Corefile"],
    readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
    livenessProbe: { httpGet: { path: "/health", port: 8080 }, initialDelaySeconds: 20 },
    volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
  };
  const pod = {
    serviceAccountName: "coredns",
    dnsPolicy: "Default",
    containers: [container],
    volumes: [{ name: "config", configMap: { name: "coredns" } }],
    // With one on each node names are resolved while the other is lost.
    topologySpreadConstraints: [spread("coredns")],
    tolerations: shortTolerations,
  };
  return list(
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata("coredns", "kube-system") },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: "system:coredns" },
      rules: reads,
    },
    binding("system:coredns", "system:coredns", account),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: metadata("coredns", "kube-system"),
      data: { Corefile: corefile },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: metadata("coredns", "kube-system"),
      spec: { replicas: 2, ...template("coredns", pod) },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata("kube-dns", "kube-system"),
      spec: {
        clusterIP: dnsAddress,
        selector: { app: "coredns" },
        ports: [port("UDP"), port("TCP")],
      },
    },
  );
}

function spread(app: string): KubeObject {
  return {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { app } },
  };
}

/** Pods leave a lost node after seconds instead of five minutes. */
const shortTolerations = ["not-ready", "unreachable"].map((name) => ({
  key: `node.kubernetes.io/${name}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 3,
}));

function template(app: string, podSpec: KubeObject): KubeObject {
  return {
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: podSpec },
  };
}

/** Busybox that runs `script` in sh; its HTTP server answers its own pod's name. */
function shellPod(script: string, more: KubeObject = {}): KubeObject {
  const container = { name: "main", image: busyboxImage, command: ["sh", "-c", script], ...more };
  return {
    containers: [container],
    terminationGracePeriodSeconds: 1,
    tolerations: shortTolerations,
  };
}

const serve =
  "mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
const readiness = { readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 } };

export function webDeployment(replicas: number, version: string): KubeObject {
  const pod = {
    ...shellPod(serve, { ...readiness, env: [{ name: "VERSION", value: version }] }),
    topologySpreadConstraints: [spread("web")],
  };
  const spec = { replicas, ...template("web", pod) };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: metadata("web"), spec };
}

export function webService(): KubeObject {
  const spec = {
    type: "NodePort",
    selector: { app: "web" },
    ports: [{ port: 80, targetPort: 8080 }],
  };
  return { apiVersion: "v1", kind: "Service", metadata: metadata("web"), spec };
}

/** `claims`: each pod with a claim of the class of `staticVolumes`. */
export function statefulSet(claims: boolean): KubeObject {
  const mounts = claims ? { volumeMounts: [{ name: "data", mountPath: "/data" }] } : {};
  const claim = {
    metadata: { name: "data" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "drill",
      resources: { requests: { storage: "1Mi" } },
    },
  };
  const script = claims ? `hostname >> /data/starts; ${serve}` : serve;
  const spec = {
    replicas: 2,
    serviceName: "ordered",
    ...template("ordered", shellPod(script, { ...readiness, ...mounts })),
    ...(claims ? { volumeClaimTemplates: [claim] } : {}),
  };
  return list(
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata("ordered"),
      spec: { clusterIP: "None", selector: { app: "ordered" }, ports: [{ port: 8080 }] },
    },
    { apiVersion: "apps/v1", kind: "StatefulSet", metadata: metadata("ordered"), spec },
  );
}

/** `names.length` volumes of a folder each, and a claim that shows whether anything binds them. */
export function staticVolumes(folder: string, names: readonly string[]): KubeObject {
  const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "drill" };
  const volumes = names.map((name) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `drill-${name}` },
    spec: {
      ...shared,
      capacity: { storage: "1Mi" },
      hostPath: { path: `${folder}/${name}`, type: "DirectoryOrCreate" },
    },
  }));
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: metadata("probe"),
    spec: { ...shared, resources: { requests: { storage: "1Mi" } } },
  };
  return list(...volumes, claim);
}

export function indexedJob(): KubeObject {
  const { tolerations: _, ...pod } = shellPod("echo index $JOB_COMPLETION_INDEX");
  const spec = {
    completions: 3,
    parallelism: 2,
    completionMode: "Indexed",
    template: { spec: { ...pod, restartPolicy: "Never" } },
  };
  return { apiVersion: "batch/v1", kind: "Job", metadata: metadata("index"), spec };
}

export function daemonSet(): KubeObject {
  const spec = template("everywhere", shellPod(serve, readiness));
  return { apiVersion: "apps/v1", kind: "DaemonSet", metadata: metadata("everywhere"), spec };
}

/** Counts lines in its log; has a Secret and its token mounted. */
export function talkingPod(): KubeObject {
  const script = "i=0; while true; do i=$((i+1)); echo line $i; sleep 0.1; done";
  const pod = shellPod(script, { volumeMounts: [{ name: "secret", mountPath: "/secret" }] });
  return list(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: metadata("word"),
      stringData: { word: "hidden" },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata("talk"),
      spec: { ...pod, volumes: [{ name: "secret", secret: { secretName: "word" } }] },
    },
  );
}
