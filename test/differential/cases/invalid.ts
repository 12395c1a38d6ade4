/** What the daily kinds refuse, and what they warn of: each object is sent with dryRun=All. */
import { post, type Case, type Suite } from "../exchange.ts";
import { sampleOf } from "./objects.ts";

/** Sends the sample of a kind once per row, with these fields set; a dotted key reaches inside. */
function variants(kind: string, rows: readonly Readonly<Record<string, unknown>>[]): Case {
  const { path, body } = sampleOf(kind);
  const steps = rows.map((row) => {
    const copy = structuredClone(body) as Record<string, unknown>;
    for (const [key, value] of Object.entries(row)) setAt(copy, key.split("."), value);
    return post(`${path}?dryRun=All`, copy);
  });
  return { name: kind, steps };
}

function setAt(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = "", ...rest] = path;
  if (rest.length === 0) {
    object[key] = value;
    return;
  }
  object[key] ??= {};
  setAt(object[key] as Record<string, unknown>, rest, value);
}

const c = "spec.containers.0";
const template = "spec.template.spec.containers.0";

const pods = variants("Pod", [
  { "spec.containers": [] },
  { [`${c}.name`]: "" },
  { [`${c}.name`]: "Bad_Name" },
  { [`${c}.image`]: "" },
  { [`${c}.image`]: " x" },
  {
    "spec.containers": [
      { name: "c", image: "i" },
      { name: "c", image: "i" },
    ],
  },
  { [`${c}.ports`]: [{ containerPort: 0 }] },
  { [`${c}.ports`]: [{ containerPort: 70000 }] },
  {
    [`${c}.ports`]: [
      { containerPort: 80, name: "a" },
      { containerPort: 81, name: "a" },
    ],
  },
  { [`${c}.ports`]: [{ containerPort: 80 }, { containerPort: 80 }] },
  { [`${c}.ports`]: [{ containerPort: 80, protocol: "HTTP" }] },
  { [`${c}.ports`]: [{ containerPort: 80, name: "too-long-a-port-name" }] },
  { [`${c}.env`]: [{ name: "" }] },
  { [`${c}.env`]: [{ name: "1=2", value: "x" }] },
  {
    [`${c}.env`]: [
      { name: "A", value: "x" },
      { name: "A", value: "y" },
    ],
  },
  {
    [`${c}.env`]: [
      { name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    ],
  },
  { [`${c}.env`]: [{ name: "A", valueFrom: {} }] },
  { [`${c}.env`]: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.nope" } } }] },
  { [`${c}.env`]: [{ name: "A", valueFrom: { secretKeyRef: { name: "", key: "" } } }] },
  { [`${c}.envFrom`]: [{}] },
  { [`${c}.resources`]: { requests: { cpu: "2" }, limits: { cpu: "1" } } },
  { [`${c}.resources`]: { requests: { cpu: "-1" } } },
  { [`${c}.resources`]: { requests: { "example.com/gpu": "1" } } },
  { [`${c}.resources`]: { limits: { nope: "1" } } },
  { [`${c}.resources`]: { limits: { memory: "1500m" } } },
  { [`${c}.imagePullPolicy`]: "Sometimes" },
  { [`${c}.terminationMessagePolicy`]: "x" },
  { [`${c}.livenessProbe`]: {} },
  { [`${c}.livenessProbe`]: { httpGet: { port: "" } } },
  { [`${c}.livenessProbe`]: { httpGet: { port: 80 }, exec: { command: ["x"] } } },
  {
    [`${c}.livenessProbe`]: {
      httpGet: { port: 80, scheme: "FTP" },
      periodSeconds: -1,
      successThreshold: 2,
    },
  },
  { [`${c}.readinessProbe`]: { tcpSocket: { port: 0 }, timeoutSeconds: -1 } },
  { [`${c}.lifecycle`]: { preStop: {} } },
  { [`${c}.volumeMounts`]: [{ name: "v", mountPath: "/a" }] },
  {
    "spec.volumes": [{ name: "v", emptyDir: {} }],
    [`${c}.volumeMounts`]: [{ name: "v", mountPath: "" }],
  },
  {
    "spec.volumes": [{ name: "v", emptyDir: {} }],
    [`${c}.volumeMounts`]: [
      { name: "v", mountPath: "/a" },
      { name: "v", mountPath: "/a" },
    ],
  },
  { "spec.volumes": [{ name: "v" }] },
  { "spec.volumes": [{ name: "V_" }] },
  {
    "spec.volumes": [
      { name: "v", emptyDir: {} },
      { name: "v", emptyDir: {} },
    ],
  },
  { "spec.volumes": [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] },
  { "spec.volumes": [{ name: "v", hostPath: { path: "/a/../b" } }] },
  { "spec.volumes": [{ name: "v", hostPath: { path: "", type: "Bad" } }] },
  { "spec.volumes": [{ name: "v", configMap: {} }] },
  { "spec.volumes": [{ name: "v", secret: { secretName: "", defaultMode: 999 } }] },
  { "spec.volumes": [{ name: "v", persistentVolumeClaim: {} }] },
  { "spec.volumes": [{ name: "v", nfs: { server: "", path: "x" } }] },
  { "spec.volumes": [{ name: "v", gitRepo: { repository: "x" } }] },
  { "spec.volumes": [{ name: "v", projected: { sources: [{}] } }] },
  { "spec.restartPolicy": "Maybe" },
  { "spec.dnsPolicy": "None" },
  { "spec.dnsPolicy": "Bad" },
  { "spec.dnsConfig": { nameservers: ["1", "2", "3", "4"], searches: ["!"] } },
  { "spec.nodeSelector": { "bad key": "x" } },
  { "spec.nodeName": "Bad_Name" },
  { "spec.hostname": "Bad_Name", "spec.subdomain": "Bad_" },
  { "spec.serviceAccountName": "Bad_" },
  { "spec.activeDeadlineSeconds": 0 },
  { "spec.terminationGracePeriodSeconds": -1 },
  { "spec.tolerations": [{ operator: "Exists", value: "x", key: "k" }] },
  { "spec.tolerations": [{ operator: "Bad", key: "k" }] },
  { "spec.tolerations": [{ key: "k", effect: "Bad" }] },
  { "spec.tolerations": [{ key: "k", effect: "NoSchedule", tolerationSeconds: 5 }] },
  { "spec.tolerations": [{ operator: "Equal" }] },
  {
    "spec.affinity": {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
    },
  },
  {
    "spec.affinity": {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "In" }] }],
        },
      },
    },
  },
  {
    "spec.affinity": {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }],
      },
    },
  },
  {
    "spec.affinity": {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {}, topologyKey: "" }],
      },
    },
  },
  { "spec.topologySpreadConstraints": [{ maxSkew: 0, topologyKey: "", whenUnsatisfiable: "x" }] },
  { "spec.securityContext": { runAsUser: -1, fsGroup: -1, sysctls: [{ name: "!", value: "1" }] } },
  { "spec.securityContext": { seccompProfile: { type: "Localhost" } } },
  { "spec.securityContext": { seccompProfile: { type: "Bad" } } },
  { [`${c}.securityContext`]: { privileged: true, allowPrivilegeEscalation: false } },
  { [`${c}.securityContext`]: { capabilities: { add: ["CAP_SYS_ADMIN"] }, procMount: "x" } },
  { "spec.hostNetwork": true, [`${c}.ports`]: [{ containerPort: 80, hostPort: 81 }] },
  { "spec.initContainers": [{ name: "c", image: "i" }] },
  { "spec.initContainers": [{ name: "i", image: "i", livenessProbe: { tcpSocket: { port: 1 } } }] },
  { "spec.initContainers": [{ name: "i", image: "i", restartPolicy: "Always" }] },
  { "spec.initContainers": [{ name: "i", image: "i", restartPolicy: "Never" }] },
  { "spec.ephemeralContainers": [{ name: "e", image: "i" }] },
  { "spec.imagePullSecrets": [{}] },
  { "spec.hostAliases": [{ ip: "x", hostnames: ["!"] }] },
  { "spec.schedulingGates": [{ name: "" }, { name: "a" }, { name: "a" }] },
  { "spec.priority": 5 },
  { "spec.preemptionPolicy": "Bad" },
  { "spec.readinessGates": [{ conditionType: "!" }] },
  { "spec.os": { name: "plan9" } },
  { "spec.overhead": { cpu: "1" } },
  { "spec.enableServiceLinks": false, "spec.shareProcessNamespace": true, "spec.hostPID": true },
  { "metadata.name": `${"a".repeat(64)}` },
  { "metadata.annotations": { "seccomp.security.alpha.kubernetes.io/pod": "runtime/default" } },
  { "metadata.annotations": { "container.apparmor.security.beta.kubernetes.io/c": "bad" } },
  { "spec.serviceAccount": "default" },
  {
    "spec.nodeSelector": {
      "beta.kubernetes.io/os": "linux",
      "failure-domain.beta.kubernetes.io/zone": "z",
    },
  },
  {
    "spec.containers": [
      { name: "c", image: "i" },
      { name: "d", image: "" },
    ],
    "spec.restartPolicy": "x",
  },
]);

const deployments = variants("Deployment", [
  { spec: {} },
  { "spec.replicas": -1 },
  { "spec.selector": {} },
  { "spec.selector": { matchLabels: { app: "b" } } },
  { "spec.selector": { matchExpressions: [{ key: "k", operator: "Bad" }] } },
  { "spec.selector": { matchExpressions: [{ key: "k", operator: "In" }] } },
  { "spec.selector": { matchExpressions: [{ key: "k", operator: "Exists", values: ["x"] }] } },
  { "spec.template.spec.restartPolicy": "Never" },
  { "spec.template.spec.activeDeadlineSeconds": 4 },
  { "spec.strategy": { type: "Bad" } },
  { "spec.strategy": { type: "Recreate", rollingUpdate: {} } },
  { "spec.strategy": { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
  { "spec.strategy": { rollingUpdate: { maxSurge: "x", maxUnavailable: "101%" } } },
  { "spec.strategy": { rollingUpdate: { maxSurge: -1 } } },
  {
    "spec.minReadySeconds": -1,
    "spec.revisionHistoryLimit": -1,
    "spec.progressDeadlineSeconds": -1,
  },
  { "spec.minReadySeconds": 600 },
  { [`${template}.image`]: "" },
  {
    [`${template}.env`]: [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ],
  },
  { "metadata.name": "a.b.c" },
  { "metadata.labels": { "bad key": "x" } },
]);

const others: readonly Case[] = [
  variants("ReplicaSet", [
    { spec: {} },
    { "spec.replicas": -1 },
    { "spec.selector": { matchLabels: { app: "b" } } },
    { "spec.template.spec.restartPolicy": "OnFailure" },
  ]),
  variants("StatefulSet", [
    { spec: {} },
    { "spec.podManagementPolicy": "x" },
    { "spec.updateStrategy": { type: "x" } },
    { "spec.updateStrategy": { type: "RollingUpdate", rollingUpdate: { partition: -1 } } },
    { "spec.selector": { matchLabels: { app: "b" } } },
    { "spec.persistentVolumeClaimRetentionPolicy": { whenDeleted: "x" } },
    { "spec.ordinals": { start: -1 } },
    { "metadata.name": "a.b" },
  ]),
  variants("DaemonSet", [
    { spec: {} },
    { "spec.updateStrategy": { type: "x" } },
    { "spec.updateStrategy": { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } },
    { "spec.updateStrategy": { rollingUpdate: { maxUnavailable: 0 } } },
    { "spec.selector": { matchLabels: { app: "b" } } },
  ]),
  variants("Job", [
    { spec: {} },
    { "spec.template.spec.restartPolicy": "Always" },
    { "spec.template.spec.restartPolicy": undefined },
    {
      "spec.parallelism": -1,
      "spec.completions": -1,
      "spec.backoffLimit": -1,
      "spec.activeDeadlineSeconds": -1,
      "spec.ttlSecondsAfterFinished": -1,
    },
    { "spec.completionMode": "Indexed" },
    { "spec.completionMode": "x" },
    { "spec.selector": { matchLabels: { a: "b" } } },
    { "spec.manualSelector": true },
    { "spec.podFailurePolicy": { rules: [{ action: "x" }] } },
    { "spec.backoffLimitPerIndex": 1 },
    { "spec.suspend": true, "spec.completions": 5, "spec.parallelism": 2 },
    { "spec.managedBy": "!" },
    { "spec.podReplacementPolicy": "x" },
  ]),
  variants("CronJob", [
    { spec: {} },
    { "spec.schedule": "x" },
    { "spec.schedule": "* * * *" },
    { "spec.schedule": "TZ=UTC * * * * *" },
    { "spec.schedule": "@hourly" },
    { "spec.schedule": "61 * * * *" },
    { "spec.timeZone": "Nope/Zone" },
    { "spec.timeZone": "Europe/Berlin" },
    { "spec.timeZone": "" },
    { "spec.concurrencyPolicy": "x" },
    {
      "spec.startingDeadlineSeconds": -1,
      "spec.successfulJobsHistoryLimit": -1,
      "spec.failedJobsHistoryLimit": -1,
    },
    { "metadata.name": "a".repeat(53) },
    { "spec.jobTemplate.spec.template.spec.restartPolicy": "Always" },
  ]),
  variants("Service", [
    { spec: {} },
    { "spec.ports": [] },
    { "spec.ports": [{ port: 0 }] },
    { "spec.ports": [{ port: 80 }, { port: 81 }] },
    {
      "spec.ports": [
        { port: 80, name: "a" },
        { port: 80, name: "b" },
      ],
    },
    {
      "spec.ports": [
        { port: 80, name: "a" },
        { port: 81, name: "a" },
      ],
    },
    { "spec.ports": [{ port: 80, protocol: "x" }] },
    { "spec.ports": [{ port: 80, targetPort: "Bad_Port" }] },
    { "spec.ports": [{ port: 80, targetPort: 0 }] },
    { "spec.ports": [{ port: 80, nodePort: 30001 }] },
    { "spec.type": "NodePort", "spec.ports": [{ port: 80, nodePort: 80 }] },
    { "spec.type": "x" },
    { "spec.type": "ExternalName" },
    { "spec.type": "ExternalName", "spec.externalName": "a.b.c", "spec.ports": [] },
    { "spec.clusterIP": "x" },
    { "spec.clusterIP": "1.2.3.4" },
    { "spec.clusterIP": "None" },
    { "spec.type": "LoadBalancer" },
    { "spec.type": "LoadBalancer", "spec.externalTrafficPolicy": "Local" },
    { "spec.externalTrafficPolicy": "Local" },
    { "spec.sessionAffinity": "x" },
    { "spec.sessionAffinity": "ClientIP" },
    { "spec.externalIPs": ["x", "127.0.0.1"] },
    { "spec.selector": { "bad key": "x" } },
    { "spec.ipFamilies": ["IPv6"] },
    { "spec.ipFamilyPolicy": "RequireDualStack" },
    { "spec.ipFamilyPolicy": "x" },
    { "spec.loadBalancerIP": "1.2.3.4", "spec.type": "LoadBalancer" },
    { "spec.loadBalancerSourceRanges": ["x"], "spec.type": "LoadBalancer" },
    { "spec.internalTrafficPolicy": "x" },
    { "spec.trafficDistribution": "x" },
    { "metadata.name": "1a" },
    { "spec.externalIPs": ["01.2.3.4"] },
  ]),
  variants("Ingress", [
    { spec: {} },
    { "spec.rules": [{ host: "Bad_" }] },
    { "spec.rules": [{ host: "1.2.3.4" }] },
    { "spec.rules": [{ host: "*.a.b" }] },
    { "spec.rules": [{ http: { paths: [] } }] },
    { "spec.rules": [{ http: { paths: [{ path: "x", pathType: "Prefix", backend: {} }] } }] },
    {
      "spec.rules": [
        { http: { paths: [{ path: "/", backend: { service: { name: "s", port: {} } } }] } },
      ],
    },
    {
      "spec.rules": [
        {
          http: {
            paths: [
              {
                path: "//",
                pathType: "Exact",
                backend: { service: { name: "s", port: { number: 80, name: "x" } } },
              },
            ],
          },
        },
      ],
    },
    { "spec.tls": [{ hosts: ["!"] }] },
    { "spec.ingressClassName": "Bad_" },
    { "metadata.annotations": { "kubernetes.io/ingress.class": "x" } },
    {
      "spec.ingressClassName": "x",
      "metadata.annotations": { "kubernetes.io/ingress.class": "x" },
    },
    {
      "spec.defaultBackend": {
        service: { name: "s", port: { number: 1 } },
        resource: { kind: "a", name: "b" },
      },
    },
  ]),
  variants("NetworkPolicy", [
    { spec: {} },
    { "spec.policyTypes": ["x"] },
    { "spec.ingress": [{ from: [{}] }] },
    { "spec.ingress": [{ from: [{ ipBlock: { cidr: "x" } }] }] },
    { "spec.ingress": [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }] }] },
    {
      "spec.egress": [
        {
          ports: [
            { port: 0 },
            { protocol: "x" },
            { port: "a", endPort: 5 },
            { port: 9, endPort: 5 },
          ],
        },
      ],
    },
    { "spec.ingress": [{ from: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }] }] },
    { "spec.podSelector": { matchLabels: { "bad key": "x" } } },
  ]),
  variants("ConfigMap", [
    { data: { "bad key": "x" } },
    { data: { a: "x" }, binaryData: { a: "eA==" } },
    { data: { [".."]: "x" } },
    { data: { "": "x" } },
    { binaryData: { a: "x" } },
    { immutable: "yes" },
    { data: { big: "x".repeat(1_048_577) } },
  ]),
  variants("Secret", [
    { data: { "bad key": "eA==" } },
    { data: { a: "!" } },
    { stringData: { a: "b" } },
    { type: "kubernetes.io/dockerconfigjson" },
    { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "eA==" } },
    { type: "kubernetes.io/tls" },
    { type: "kubernetes.io/basic-auth" },
    { type: "kubernetes.io/ssh-auth" },
    { type: "kubernetes.io/service-account-token" },
    { type: "kubernetes.io/tls", data: { "tls.crt": "eA==", "tls.key": "eA==" } },
    { data: { big: "eHh4".repeat(349_526) } },
  ]),
  variants("PersistentVolumeClaim", [
    { spec: {} },
    { "spec.accessModes": [] },
    { "spec.accessModes": ["x"] },
    { "spec.accessModes": ["ReadWriteOncePod", "ReadWriteOnce"] },
    { "spec.resources": {} },
    { "spec.resources": { requests: { storage: "0" } } },
    { "spec.resources": { requests: { storage: "-1" } } },
    { "spec.volumeMode": "x" },
    { "spec.storageClassName": "Bad_" },
    { "spec.dataSource": { kind: "Pod", name: "x" } },
    { "spec.selector": { matchLabels: { "bad key": "" } } },
    { "spec.resources": { requests: { storage: "1.5" } } },
  ]),
  variants("PersistentVolume", [
    { spec: {} },
    { "spec.capacity": {} },
    { "spec.hostPath": undefined },
    { "spec.nfs": { server: "s", path: "/" } },
    { "spec.persistentVolumeReclaimPolicy": "x" },
    { "spec.hostPath": { path: "/" }, "spec.persistentVolumeReclaimPolicy": "Recycle" },
    { "spec.accessModes": [] },
    { "spec.volumeMode": "x" },
    { "spec.nodeAffinity": {} },
  ]),
  variants("Role", [
    { rules: [{}] },
    { rules: [{ verbs: ["get"] }] },
    { rules: [{ verbs: ["get"], resources: ["pods"] }] },
    { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
    { rules: [{ verbs: [], apiGroups: [""], resources: ["pods"] }] },
    { rules: undefined },
  ]),
  variants("ClusterRole", [
    { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"], resources: ["x"], apiGroups: [""] }] },
    { aggregationRule: { clusterRoleSelectors: [] } },
    { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "bad key": "" } }] } },
  ]),
  variants("RoleBinding", [
    { roleRef: {} },
    { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "x", name: "y" } },
    { roleRef: { apiGroup: "x", kind: "Role", name: "" } },
    { subjects: [{ kind: "x", name: "" }] },
    { subjects: [{ kind: "ServiceAccount", name: "Bad_" }] },
    { subjects: [{ kind: "User", name: "x", apiGroup: "y" }] },
    { subjects: undefined },
    { subjects: [{ kind: "ServiceAccount", name: "x" }] },
  ]),
  variants("HorizontalPodAutoscaler", [
    { spec: {} },
    { "spec.maxReplicas": 0 },
    { "spec.minReplicas": 5 },
    { "spec.minReplicas": 0 },
    { "spec.scaleTargetRef": {} },
    { "spec.metrics": [{ type: "x" }] },
    { "spec.metrics": [{ type: "Resource" }] },
    {
      "spec.metrics": [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization" } } },
      ],
    },
    {
      "spec.metrics": [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } },
        },
      ],
    },
    { "spec.behavior": { scaleDown: { stabilizationWindowSeconds: 9999, policies: [] } } },
    {
      "spec.behavior": {
        scaleUp: { selectPolicy: "x", policies: [{ type: "x", value: 0, periodSeconds: 0 }] },
      },
    },
  ]),
  variants("PodDisruptionBudget", [
    { spec: {} },
    { "spec.minAvailable": "x" },
    { "spec.minAvailable": -1 },
    { "spec.maxUnavailable": 1 },
    { "spec.minAvailable": "101%" },
    { "spec.unhealthyPodEvictionPolicy": "x" },
    { "spec.selector": { matchLabels: { "bad key": "" } } },
  ]),
  variants("ResourceQuota", [
    { spec: {} },
    { "spec.hard": { nope: "1" } },
    { "spec.hard": { pods: "1.5" } },
    { "spec.hard": { cpu: "-1" } },
    { "spec.hard": { "count/x.y": "1" } },
    { "spec.scopes": ["x"] },
    { "spec.scopes": ["BestEffort", "NotBestEffort"] },
    {
      "spec.scopeSelector": { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] },
    },
    { "spec.scopes": ["BestEffort"], "spec.hard": { services: "1" } },
  ]),
  variants("LimitRange", [
    { spec: {} },
    { "spec.limits": [{}] },
    { "spec.limits": [{ type: "x" }] },
    { "spec.limits": [{ type: "Pod", default: { cpu: "1" } }] },
    { "spec.limits": [{ type: "Container", min: { cpu: "2" }, max: { cpu: "1" } }] },
    { "spec.limits": [{ type: "Container", default: { cpu: "2" }, max: { cpu: "1" } }] },
    { "spec.limits": [{ type: "Container" }, { type: "Container" }] },
    { "spec.limits": [{ type: "PersistentVolumeClaim" }] },
    { "spec.limits": [{ type: "Container", maxLimitRequestRatio: { cpu: "0.5" } }] },
  ]),
  variants("Node", [
    { spec: { podCIDR: "x" } },
    { "spec.taints": [{ key: "", effect: "x" }] },
    {
      "spec.taints": [
        { key: "a", effect: "NoSchedule" },
        { key: "a", effect: "NoSchedule" },
      ],
    },
    { "spec.podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"] },
    { "spec.configSource": {} },
    { "spec.externalID": "x" },
    { "metadata.labels": { "beta.kubernetes.io/os": "linux" } },
    { "metadata.annotations": { "scheduler.alpha.kubernetes.io/preferAvoidPods": "x" } },
  ]),
  variants("Endpoints", [
    { subsets: [{ addresses: [{ ip: "x" }] }] },
    { subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ port: 0 }] }] },
    { subsets: [{}] },
    { subsets: [{ addresses: [{ ip: "1.2.3.4" }], ports: [{ port: 1 }, { port: 2 }] }] },
  ]),
  variants("EndpointSlice", [
    { addressType: "x" },
    { endpoints: [{ addresses: [] }] },
    { endpoints: [{ addresses: ["x"] }] },
    { ports: [{ port: 1 }, { port: 2 }] },
    { addressType: "FQDN", endpoints: [{ addresses: ["a.b"] }] },
    { endpoints: [{ addresses: ["192.0.2.1"], deprecatedTopology: { a: "b" } }] },
  ]),
  variants("Lease", [
    { "spec.leaseDurationSeconds": 0 },
    { "spec.leaseTransitions": -1 },
    { "spec.renewTime": "x" },
    { "spec.renewTime": "2026-01-01T00:00:00Z" },
    { "spec.renewTime": "2026-01-01T00:00:00.123456Z" },
    { "spec.strategy": "x" },
  ]),
  variants("StorageClass", [
    { provisioner: "" },
    { reclaimPolicy: "x" },
    { volumeBindingMode: "x" },
    { parameters: { "": "x" } },
    { allowedTopologies: [{ matchLabelExpressions: [{ key: "", values: [] }] }] },
  ]),
  variants("PriorityClass", [
    { value: 2_000_000_001 },
    { preemptionPolicy: "x" },
    { globalDefault: true },
    { "metadata.name": "system-x" },
    { value: undefined },
  ]),
  variants("IngressClass", [
    { spec: {} },
    { "spec.controller": "x" },
    { "spec.parameters": { kind: "", name: "" } },
  ]),
  variants("RuntimeClass", [
    { handler: "" },
    { handler: "Bad_" },
    { overhead: { podFixed: { cpu: "-1" } } },
  ]),
  variants("Event", [
    { involvedObject: {} },
    { "involvedObject.namespace": "other" },
    { type: "x" },
    { reason: "" },
  ]),
  variants("ServiceAccount", [
    {
      secrets: [{ name: "x" }],
      imagePullSecrets: [{ name: "y" }],
      automountServiceAccountToken: false,
    },
    { automountServiceAccountToken: "x" },
  ]),
  variants("ValidatingWebhookConfiguration", [
    { webhooks: [{ name: "x" }] },
    {
      webhooks: [
        {
          name: "a.b.c",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          clientConfig: { url: "http://x" },
          rules: [{ operations: ["x"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        },
      ],
    },
    {
      webhooks: [
        {
          name: "a.b.c",
          sideEffects: "Some",
          admissionReviewVersions: ["v9"],
          clientConfig: {},
          failurePolicy: "x",
          matchPolicy: "x",
          timeoutSeconds: 99,
        },
      ],
    },
    {
      webhooks: [
        {
          name: "a.b.c",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          clientConfig: { service: { name: "s", namespace: "n" } },
        },
      ],
    },
  ]),
  variants("FlowSchema", [
    { spec: {} },
    { "spec.matchingPrecedence": 0 },
    { "spec.rules": [{}] },
    { "spec.distinguisherMethod": { type: "x" } },
  ]),
  variants("CertificateSigningRequest", [
    { spec: {} },
    { "spec.signerName": "x" },
    { "spec.usages": ["x"] },
    { "spec.expirationSeconds": 5 },
  ]),
];

export const invalid: Suite = { name: "invalid", cases: [pods, deployments, ...others] };
