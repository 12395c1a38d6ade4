/** Rules refuse nothing that people run. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { created, onCreate, onUpdate, warnings } from "./testing/findings.ts";

/** What clusters are full of, with about every field people use. */
const manifests: Readonly<Record<string, string>> = {
  "a web server": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app.kubernetes.io/name: web}}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
  template:
    metadata: {labels: {app: web}, annotations: {prometheus.io/scrape: "true"}}
    spec:
      serviceAccountName: web
      automountServiceAccountToken: false
      priorityClassName: high
      securityContext: {runAsNonRoot: true, runAsUser: 1000, fsGroup: 2000, seccompProfile: {type: RuntimeDefault}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}
      tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
      initContainers:
      - {name: migrate, image: "web:1", command: [migrate]}
      - {name: proxy, image: "proxy:1", restartPolicy: Always, startupProbe: {tcpSocket: {port: 15021}}}
      containers:
      - name: web
        image: registry.example.com:5000/team/web@sha256:${"0".repeat(64)}
        args: ["--port=$(PORT)"]
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090, protocol: TCP}]
        env:
        - {name: PORT, value: "8080"}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: LABEL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
        - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
        - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
        envFrom: [{configMapRef: {name: c}}, {prefix: X_, secretRef: {name: s}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi, ephemeral-storage: 1Gi}}
        lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
        livenessProbe: {httpGet: {path: /healthz, port: http}, initialDelaySeconds: 3}
        readinessProbe: {grpc: {port: 9090}, successThreshold: 2}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        volumeMounts:
        - {name: config, mountPath: /etc/web, readOnly: true}
        - {name: cache, mountPath: /cache, subPath: web}
        - {name: tokens, mountPath: /var/run/tokens}
      volumes:
      - {name: config, configMap: {name: c, items: [{key: a, path: dir/a}]}}
      - {name: cache, emptyDir: {sizeLimit: 1Gi, medium: Memory}}
      - {name: claim, persistentVolumeClaim: {claimName: data}}
      - {name: socket, hostPath: {path: /run/x, type: DirectoryOrCreate}}
      - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
      - name: tokens
        projected:
          sources:
          - {serviceAccountToken: {path: token, audience: vault, expirationSeconds: 3600}}
          - {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
          - {configMap: {name: kube-root-ca.crt}}
      dnsConfig: {options: [{name: ndots, value: "2"}], searches: [svc.cluster.local]}
      hostAliases: [{ip: 127.0.0.1, hostnames: [web.local]}]
      imagePullSecrets: [{name: registry}]
`,
  "a network agent on every node": `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      hostNetwork: true
      hostPID: true
      dnsPolicy: ClusterFirstWithHostNet
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers:
      - name: agent
        image: agent
        ports: [{containerPort: 9100, hostPort: 9100}]
        securityContext: {privileged: true}
        volumeMounts: [{name: root, mountPath: /host, mountPropagation: Bidirectional}]
      volumes: [{name: root, hostPath: {path: /}}]
`,
  "a nightly job": `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup}
spec:
  schedule: "0 3 * * mon-fri"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  jobTemplate:
    spec:
      backoffLimit: 2
      ttlSecondsAfterFinished: 3600
      podFailurePolicy:
        rules:
        - {action: FailJob, onExitCodes: {operator: In, values: [1, 42]}}
        - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
`,
  "an indexed job": `
apiVersion: batch/v1
kind: Job
metadata: {name: shards, uid: u}
spec:
  completions: 5
  parallelism: 3
  completionMode: Indexed
  backoffLimitPerIndex: 1
  maxFailedIndexes: 2
  successPolicy: {rules: [{succeededIndexes: "0,2-3", succeededCount: 2}]}
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
`,
  "an autoscaler": `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
  - {type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "30"}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Percent, value: 50, periodSeconds: 15}]}}
`,
  "an ingress": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: nginx
  tls: [{hosts: ["*.example.com"], secretName: tls}]
  rules:
  - host: web.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
`,
  "a policy": `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress, Egress]
  ingress: [{from: [{namespaceSelector: {}}], ports: [{port: http}]}]
  egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}], ports: [{protocol: UDP, port: 53, endPort: 54}]}]
`,
  "a role": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:reader"}
rules:
- {apiGroups: ["", apps], resources: [pods, deployments/scale], verbs: [get, list], resourceNames: [a]}
- {nonResourceURLs: [/metrics], verbs: [get]}
`,
  "a local volume": `
apiVersion: v1
kind: PersistentVolume
metadata: {name: local-1}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`,
  "limits of a team": `
apiVersion: v1
kind: LimitRange
metadata: {name: team}
spec:
  limits:
  - {type: Container, default: {cpu: 500m, memory: 256Mi}, defaultRequest: {cpu: 100m}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 10}}
  - {type: PersistentVolumeClaim, max: {storage: 100Gi}}
`,
  "a quota of a team": `
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec:
  hard: {pods: 10, requests.cpu: 4, limits.memory: 8Gi, count/deployments.apps: 5, requests.nvidia.com/gpu: 1, gold.storageclass.storage.k8s.io/requests.storage: 1Ti}
`,
};

for (const [name, yaml] of Object.entries(manifests)) {
  test(`The manifest of ${name} is accepted as it is, again, and as the server returns it`, () => {
    assert.deepEqual(onCreate(yaml), []);
    assert.deepEqual(warnings(yaml), []);
    assert.deepEqual(onUpdate(yaml, JSON.stringify(created(yaml))), []);
  });
}
