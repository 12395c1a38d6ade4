/** Findings about pods: on create, and at each of their doors. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { onCreate, onUpdate, warnings } from "./testing/findings.ts";

/** A pod whose only container is given, as flow YAML; more of the spec may follow. */
function pod(container: string, spec = ""): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [${container}]
${spec
  .split("\n")
  .map((line) => `  ${line}`)
  .join("\n")}`;
}

const fine = "{name: c, image: i}";

const containers: readonly (readonly [string, string, readonly string[]])[] = [
  ["nothing wrong", fine, []],
  ["no image", "{name: c}", ["spec.containers[0].image: Required value"]],
  ["no name", "{image: i}", ["spec.containers[0].name: Required value"]],
  ["two of one name", `${fine}, ${fine}`, ['spec.containers[1].name: Duplicate value: "c"']],
  [
    "a name no host could have",
    "{name: C_1, image: i}",
    [
      "spec.containers[0].name: Invalid value: \"C_1\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
  [
    "a request above its limit",
    "{name: c, image: i, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}",
    [
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
  ],
  [
    "a mount of nothing",
    "{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}",
    ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    "a port out of range",
    "{name: c, image: i, ports: [{containerPort: 70000}]}",
    [
      "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
  ],
  [
    "a protocol nobody speaks",
    "{name: c, image: i, ports: [{containerPort: 80, protocol: HTTP}]}",
    [
      'spec.containers[0].ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ],
  ],
  [
    "a variable with two sources",
    "{name: c, image: i, env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}",
    [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ],
  ],
  [
    "a probe without a handler",
    "{name: c, image: i, livenessProbe: {periodSeconds: 3}}",
    ["spec.containers[0].livenessProbe: Required value: must specify a handler type"],
  ],
  [
    "a pull policy of its own",
    "{name: c, image: i, imagePullPolicy: Sometimes}",
    [
      'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
    ],
  ],
];

for (const [name, container, expected] of containers) {
  test(`A container with ${name} is answered as upstream does`, () => {
    assert.deepEqual(onCreate(pod(container)), expected);
  });
}

const specs: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "a restart policy of its own",
    "restartPolicy: Sometimes",
    [
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
  ],
  [
    "a DNS policy None without servers",
    "dnsPolicy: None",
    ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
  ],
  [
    "two volumes of one name",
    "volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]",
    ['spec.volumes[1].name: Duplicate value: "v"'],
  ],
  [
    "a toleration with a value that asks for existence",
    "tolerations: [{key: a, operator: Exists, value: b}]",
    [
      "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ],
  ],
  [
    "no room for skew",
    "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
    ["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
  ],
  [
    "ephemeral containers from the start",
    "ephemeralContainers: [{name: d, image: i}]",
    ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
  ],
];

for (const [name, spec, expected] of specs) {
  test(`A pod with ${name} is answered as upstream does`, () => {
    assert.deepEqual(onCreate(pod(fine, spec)), expected);
  });
}

test("A pod without containers says so and nothing else", () => {
  const yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}";
  assert.deepEqual(onCreate(yaml), ["spec.containers: Required value"]);
});

test("The image of a running pod may change, and tolerations be added", () => {
  const old = pod(fine);
  assert.deepEqual(onUpdate(old, pod("{name: c, image: other}")), []);
  assert.deepEqual(onUpdate(old, pod(fine, "tolerations: [{key: a, operator: Exists}]")), []);
});

test("Nothing else of a running pod changes, and the refusal names what may", () => {
  const [error, ...more] = onUpdate(pod(fine), pod("{name: c, image: i, command: [x]}"));
  assert.deepEqual(more, []);
  const start =
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`," +
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions " +
    "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it " +
    "was previously negative)";
  assert.equal(error?.slice(0, start.length), start);
});

test("Containers of a running pod neither come nor go", () => {
  assert.deepEqual(onUpdate(pod(fine), pod(`${fine}, {name: d, image: i}`)), [
    "spec.containers: Forbidden: pod updates may not add or remove containers",
  ]);
});

test("Ephemeral containers come through their own door and stay", () => {
  const old = pod(fine);
  const next = pod(fine, "ephemeralContainers: [{name: d, image: i}]");
  assert.deepEqual(onUpdate(old, next, "ephemeralcontainers"), []);
});

test("Resizing changes requests and limits, not the class of service", () => {
  const sized = (cpu: string): string =>
    pod(`{name: c, image: i, resources: {requests: {cpu: ${cpu}, memory: 1Gi}}}`);
  assert.deepEqual(onUpdate(sized("1"), sized("2"), "resize"), []);
  const [error] = onUpdate(sized("1"), pod(fine), "resize");
  assert.match(error ?? "", /Pod QOS Class may not change as a result of resizing/);
});

test("Resizing lowers and adds memory limits, whatever the resize policy", () => {
  const sized = (limits: string): string =>
    pod(`{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {${limits}}}}`);
  assert.deepEqual(onUpdate(sized("memory: 4Gi"), sized("memory: 2Gi"), "resize"), []);
  assert.deepEqual(onUpdate(sized("cpu: 2"), sized("cpu: 2, memory: 2Gi"), "resize"), []);
});

test("Resizing takes no request or limit back, and changes nothing but cpu and memory", () => {
  const sized = (limits: string): string =>
    pod(`{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {${limits}}}}`);
  const old = sized("cpu: 2, memory: 2Gi");
  assert.deepEqual(onUpdate(old, sized("cpu: 2"), "resize"), [
    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
  ]);
  const storage = sized("cpu: 2, memory: 2Gi, ephemeral-storage: 1Gi");
  assert.deepEqual(onUpdate(old, storage, "resize"), [
    "spec: Forbidden: only cpu and memory resources are mutable",
  ]);
});

test("Containers are not renamed by a resize, and those of init may be resized", () => {
  const init = (name: string, cpu: string, more = ""): string =>
    pod(
      "{name: c, image: i, resources: {requests: {cpu: 1}}}",
      `initContainers: [{name: ${name}, image: i, resources: {requests: {cpu: ${cpu}}}${more}}]`,
    );
  assert.deepEqual(onUpdate(init("a", "1"), init("a", "2"), "resize"), []);
  assert.deepEqual(onUpdate(init("a", "1"), init("b", "1"), "resize"), [
    "spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize",
  ]);
});

test("Repeated variables and fractions of bytes are accepted with a warning", () => {
  const yaml = pod(
    "{name: c, image: i, env: [{name: A, value: a}, {name: A, value: b}], resources: {requests: {memory: 0.5}}}",
  );
  assert.deepEqual(warnings(yaml), [
    'spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer',
    'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
  ]);
});
