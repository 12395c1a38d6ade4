/** Defaults: manifests as written, against what `kubectl get -o yaml` shows. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { parse } from "yaml";
import type { AnyObject } from "../object.ts";
import { parseApiVersion } from "../object.ts";
import { upstreamSamples } from "../testing/upstream.ts";
import { applyDefaults } from "./apply.ts";
import { imageTag, pullPolicyFor } from "./image.ts";
import { base64Length, decodeBase64Text, encodeBase64Text } from "./base64.ts";

function defaulted(yaml: string): AnyObject {
  const object = parse(yaml) as AnyObject;
  const gv = parseApiVersion(object.apiVersion ?? "");
  assert.ok(gv);
  const once = applyDefaults(gv.group, gv.version, object.kind ?? "", object);
  const twice = applyDefaults(gv.group, gv.version, object.kind ?? "", once);
  assert.equal(twice, once, "defaulting what is defaulted gives the same object");
  return once;
}

const cases: readonly { name: string; input: string; output: string }[] = [
  {
    name: "A Pod comes back as kubectl get -o yaml shows it",
    input: `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{containerPort: 80}]
    resources: {limits: {cpu: 1000m, memory: 0.5Gi}}
    env:
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    livenessProbe: {httpGet: {port: 80}}
    readinessProbe: {grpc: {port: 80}}
  volumes:
  - {name: scratch}
  - {name: config, configMap: {name: c}}
  - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}
`,
    output: `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers:
  - name: web
    image: nginx
    imagePullPolicy: Always
    ports: [{containerPort: 80, protocol: TCP}]
    resources: {limits: {cpu: "1", memory: 512Mi}, requests: {cpu: "1", memory: 512Mi}}
    env:
    - {name: POD, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {divisor: "0", resource: limits.cpu}}}
    livenessProbe:
      {failureThreshold: 3, httpGet: {path: /, port: 80, scheme: HTTP}, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}
    readinessProbe:
      {failureThreshold: 3, grpc: {port: 80, service: ""}, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: config, configMap: {name: c, defaultMode: 420}}
  - {name: token, projected: {defaultMode: 420, sources: [{serviceAccountToken: {expirationSeconds: 3600, path: token}}]}}
status: {}
`,
  },
  {
    name: "A Deployment gets its strategy, limits and template defaults, but no requests from limits",
    input: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null}
spec:
  selector: {matchLabels: {app: web}}
  strategy: {}
  template:
    metadata: {creationTimestamp: null, labels: {app: web}}
    spec:
      serviceAccountName: robot
      containers: [{name: web, image: "nginx:1.27", resources: {limits: {cpu: "2"}}}]
status: {}
`,
    output: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  progressDeadlineSeconds: 600
  replicas: 1
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}, type: RollingUpdate}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - image: nginx:1.27
        imagePullPolicy: IfNotPresent
        name: web
        resources: {limits: {cpu: "2"}}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      serviceAccount: robot
      serviceAccountName: robot
      terminationGracePeriodSeconds: 30
status: {}
`,
  },
  {
    name: "A negative grace period of a pod is one second",
    input: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: b, imagePullPolicy: Never}], terminationGracePeriodSeconds: -7}
`,
    output: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: a
    image: b
    imagePullPolicy: Never
    resources: {}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 1
status: {}
`,
  },
  {
    name: "Host networking opens container ports on the host, in pods",
    input: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {hostNetwork: true, containers: [{name: a, image: "b@sha256:00", ports: [{containerPort: 80, protocol: UDP}]}]}
`,
    output: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: a
    image: "b@sha256:00"
    imagePullPolicy: IfNotPresent
    ports: [{containerPort: 80, hostPort: 80, protocol: UDP}]
    resources: {}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  hostNetwork: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
status: {}
`,
  },
  {
    name: "A load balancer Service",
    input: `
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {type: LoadBalancer, sessionAffinity: ClientIP, ports: [{port: 80}, {port: 443, targetPort: https, name: tls}]}
`,
    output: `
apiVersion: v1
kind: Service
metadata: {name: s}
spec:
  allocateLoadBalancerNodePorts: true
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
  ports:
  - {port: 80, protocol: TCP, targetPort: 80}
  - {name: tls, port: 443, protocol: TCP, targetPort: https}
  sessionAffinity: ClientIP
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}
  type: LoadBalancer
status: {loadBalancer: {}}
`,
  },
  {
    name: "An ExternalName Service gets no traffic policies",
    input: `
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {type: ExternalName, externalName: a.b}
`,
    output: `
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {externalName: a.b, sessionAffinity: None, type: ExternalName}
status: {loadBalancer: {}}
`,
  },
  {
    name: "A Job counts to one",
    input: `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: []}}}
`,
    output: `
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {a: b}}
spec:
  backoffLimit: 6
  completionMode: NonIndexed
  completions: 1
  manualSelector: false
  parallelism: 1
  podReplacementPolicy: TerminatingOrFailed
  suspend: false
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: []
      dnsPolicy: ClusterFirst
      restartPolicy: Never
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
status: {}
`,
  },
  {
    name: "A parallel Job without completions stays a work queue",
    input: `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {parallelism: 3, backoffLimitPerIndex: 1, template: {spec: {}}}
`,
    output: `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  backoffLimit: 2147483647
  backoffLimitPerIndex: 1
  completionMode: NonIndexed
  manualSelector: false
  parallelism: 3
  podReplacementPolicy: TerminatingOrFailed
  suspend: false
  template:
    metadata: {}
    spec: {dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}
status: {}
`,
  },
  {
    name: "An autoscaler looks at CPU at 80 %",
    input: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec: {maxReplicas: 3, behavior: {scaleDown: {selectPolicy: Min}}}
`,
    output: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h}
spec:
  maxReplicas: 3
  minReplicas: 1
  behavior:
    scaleDown: {selectPolicy: Min, policies: [{type: Percent, value: 100, periodSeconds: 15}]}
    scaleUp:
      policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]
      selectPolicy: Max
      stabilizationWindowSeconds: 0
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
status: {desiredReplicas: 0}
`,
  },
  {
    name: "stringData lands in data",
    input: `
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: eA==}
stringData: {b: "hällo"}
`,
    output: `
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: eA==, b: aMOkbGxv}
type: Opaque
`,
  },
  {
    name: "A Namespace is labelled with its name",
    input: `{apiVersion: v1, kind: Namespace, metadata: {name: n}}`,
    output: `{apiVersion: v1, kind: Namespace, metadata: {name: n, labels: {kubernetes.io/metadata.name: n}}, spec: {}, status: {phase: Active}}`,
  },
  {
    name: "A LimitRange fills its container defaults",
    input: `
{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: "2"}, min: {memory: 1024Ki}}]}}
`,
    output: `
{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: "2"}, min: {memory: 1Mi}, default: {cpu: "2"}, defaultRequest: {cpu: "2", memory: 1Mi}}]}}
`,
  },
  {
    name: "A webhook fails closed within ten seconds",
    input: `
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.b.c, clientConfig: {service: {name: s, namespace: n}}, rules: [{apiGroups: [""]}]}]}
`,
    output: `
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.b.c, clientConfig: {service: {name: s, namespace: n, port: 443}}, rules: [{apiGroups: [""], scope: "*"}], failurePolicy: Fail, matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10, reinvocationPolicy: Never}]}
`,
  },
  {
    name: "Kinds without rules, custom ones too, come back untouched",
    input: `{apiVersion: example.com/v1, kind: Thing, spec: {a: null}}`,
    output: `{apiVersion: example.com/v1, kind: Thing, spec: {a: null}}`,
  },
];

for (const { name, input, output } of cases) {
  test(name, () => {
    assert.deepEqual(defaulted(input), parse(output));
  });
}

test("The tag of an image decides its pull policy", () => {
  const hex = "a".repeat(64);
  const tags: Readonly<Record<string, readonly string[]>> = {
    latest: [
      "nginx",
      "nginx:latest",
      "localhost/a",
      "Foo/bar",
      "A.b/c",
      "a_b.c/d",
      "foo.bar/baz",
      "reg:5000/a",
      "[::1]:5000/a",
      "[::1]/a",
      "a__b",
      "a--b",
      "index.docker.io/a",
      `a:latest@sha256:${hex}`,
      `${"a".repeat(247)}`,
      `b/${"a".repeat(253)}`,
    ],
    // Refused by the grammar, or with a digest alone.
    "": [
      "",
      "Nginx",
      "<X>",
      "ko://github.com/x/y",
      "foo/Bar",
      "a//b",
      "a___b",
      "a-",
      "-a",
      "a..b",
      "a:",
      "a:-x",
      "a b",
      " a",
      "$(IMG)",
      "{{ .Values.image }}",
      "a.b:x/c",
      "a:b/c",
      "ä",
      "a/ä",
      hex,
      `a@sha256:${hex}`,
      `a@sha256:${hex}a`,
      `a@sha256:${hex.toUpperCase()}`,
      `a@md5:${"0".repeat(32)}`,
      "a".repeat(248),
      `b/${"a".repeat(254)}`,
      `a:${"a".repeat(129)}`,
    ],
    "1": ["a:1", "reg:5000/a:1", `a:1@sha256:${hex}`],
    "5000": ["a:5000"],
  };
  for (const [tag, images] of Object.entries(tags)) {
    for (const image of images) assert.equal(imageTag(image), tag, image);
  }
  assert.equal(pullPolicyFor("a:latest"), "Always");
  assert.equal(pullPolicyFor("a:1"), "IfNotPresent");
  assert.equal(pullPolicyFor("Nginx"), "IfNotPresent");
});

test("Base64 round trips text and knows its length", () => {
  for (const plain of ["", "a", "ab", "abc", "häß🎈"]) {
    const encoded = encodeBase64Text(plain);
    assert.equal(encoded, Buffer.from(plain).toString("base64"));
    assert.equal(base64Length(encoded), Buffer.byteLength(plain));
    assert.equal(decodeBase64Text(encoded), plain);
  }
  assert.equal(base64Length("a"), undefined);
  assert.equal(decodeBase64Text("/w=="), undefined);
});

test("Defaulting is idempotent on every built-in kind with every field set", () => {
  const samples = upstreamSamples();
  assert.ok(samples.length > 100);
  for (const { name, object } of samples) {
    const gv = parseApiVersion(object.apiVersion ?? "v1");
    if (gv === undefined) continue;
    const once = applyDefaults(gv.group, gv.version, object.kind ?? "", object);
    assert.equal(applyDefaults(gv.group, gv.version, object.kind ?? "", once), once, name);
  }
});
