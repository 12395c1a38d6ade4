/** Findings about everything that makes pods. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { created, onCreate, onUpdate } from "./testing/findings.ts";

const template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}";

function apps(kind: string, spec: string): string {
  return `{apiVersion: apps/v1, kind: ${kind}, metadata: {name: w, namespace: default}, spec: {${spec}}}`;
}

const selector = "selector: {matchLabels: {a: b}}";
const whole = `${selector}, template: ${template}`;

const creates: readonly (readonly [string, string, readonly string[]])[] = [
  ["A plain deployment is fine", apps("Deployment", whole), []],
  ["A plain daemon set is fine", apps("DaemonSet", whole), []],
  ["A plain replica set is fine", apps("ReplicaSet", whole), []],
  [
    "A stateful set may mount its claims",
    apps(
      "StatefulSet",
      `${selector}, serviceName: s, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}`,
    ),
    [],
  ],
  [
    "A deployment without a selector selects nothing",
    apps("Deployment", `template: ${template}`),
    [
      "spec.selector: Required value",
      'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ],
  ],
  [
    "A deployment selects its own pods",
    apps("Deployment", `selector: {matchLabels: {a: c}}, template: ${template}`),
    [
      'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ],
  ],
  [
    "A deployment may not select everything",
    apps("Deployment", `selector: {}, template: ${template}`),
    ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
  ],
  [
    "Pods of deployments restart for ever",
    apps(
      "Deployment",
      `${selector}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`,
    ),
    ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  ],
  [
    "A rollout has to be able to move",
    apps(
      "Deployment",
      `${whole}, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}`,
    ),
    [
      "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
    ],
  ],
  [
    "Recreating knows no rolling",
    apps("Deployment", `${whole}, strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}`),
    [
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
  ],
  [
    "A deployment has longer to make progress than a pod to become ready",
    apps("Deployment", `${whole}, minReadySeconds: 10, progressDeadlineSeconds: 10`),
    ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"],
  ],
  [
    "Replicas are no debt",
    apps("Deployment", `${whole}, replicas: -1`),
    ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "A daemon set surges or takes away, not both",
    apps(
      "DaemonSet",
      `${whole}, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}`,
    ),
    [
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ],
  ],
  [
    "A stateful set manages pods in one of two ways",
    apps("StatefulSet", `${whole}, podManagementPolicy: Chaos`),
    ["spec.podManagementPolicy: Invalid value: \"Chaos\": must be 'OrderedReady' or 'Parallel'"],
  ],
];

for (const [name, yaml, expected] of creates) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}

for (const kind of ["Deployment", "ReplicaSet", "DaemonSet"]) {
  test(`The selector of a ${kind} is for good`, () => {
    const other = `selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: i}]}}`;
    assert.deepEqual(onUpdate(apps(kind, whole), apps(kind, other)), [
      'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable',
    ]);
  });
}

test("Of a daemon set, what may not change is told before what does not fit", () => {
  const other = whole.replace("matchLabels: {a: b}", "matchLabels: {a: c}");
  assert.notEqual(other, whole);
  assert.deepEqual(onUpdate(apps("DaemonSet", whole), apps("DaemonSet", other)), [
    'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable',
    'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
  ]);
});

test("A success policy needs indexes; it is shown as Go's struct", () => {
  const policy = "successPolicy: {rules: [{succeededCount: 1}]}";
  const spec = `template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}, ${policy}`;
  assert.deepEqual(onCreate(job(spec)), [
    'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
  ]);
});

test("A stateful set's service name is for good, its replicas are not", () => {
  const old = apps("StatefulSet", `${whole}, serviceName: s`);
  assert.deepEqual(onUpdate(old, apps("StatefulSet", `${whole}, serviceName: s, replicas: 3`)), []);
  assert.deepEqual(onUpdate(old, apps("StatefulSet", `${whole}, serviceName: t`)), [
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', " +
      "'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' " +
      "and 'minReadySeconds' are forbidden",
  ]);
});

test("A deployment's status adds up", () => {
  const old = apps("Deployment", whole);
  const next = old.replace("spec:", "status: {replicas: 1, readyReplicas: 2}, spec:");
  assert.deepEqual(onUpdate(old, next, "status"), [
    "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
  ]);
});

function job(spec: string, metadata = "{name: j, namespace: default, uid: u}"): string {
  return `{apiVersion: batch/v1, kind: Job, metadata: ${metadata}, spec: {${spec}}}`;
}

const work = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";

const jobs: readonly (readonly [string, string, readonly string[]])[] = [
  ["A plain job is fine", job(work), []],
  [
    "Pods of jobs end",
    job("template: {spec: {containers: [{name: c, image: i}]}}"),
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
  [
    "An indexed job knows how many",
    job(`${work}, completionMode: Indexed, parallelism: 2`),
    ["spec.completions: Required value: when completion mode is Indexed"],
  ],
  [
    "Limits per index need indexes",
    job(`${work}, backoffLimitPerIndex: 1`),
    ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
  ],
  [
    "A selector of one's own is refused",
    job(`${work}, selector: {matchLabels: {mine: yes}}`.replace("yes", '"yes"')),
    [
      'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u","mine":"yes"}}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: {"job-name":"j","batch.kubernetes.io/job-name":"j","controller-uid":"u","batch.kubernetes.io/controller-uid":"u"}: `selector` does not match template `labels`',
    ],
  ],
  [
    "A failure rule says when",
    job(`${work}, podFailurePolicy: {rules: [{action: Ignore}]}`),
    [
      "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
    ],
  ],
];

for (const [name, yaml, expected] of jobs) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}

test("A job's template is for good, its parallelism is not", () => {
  assert.deepEqual(
    onUpdate(job(work), withSelector(job(`${work}, completions: 1, parallelism: 3`))),
    [],
  );
  const other = withSelector(job(work.replace("image: i", "image: other")));
  const [error, ...more] = onUpdate(job(work), other);
  assert.deepEqual(more, []);
  assert.match(error ?? "", /^spec\.template: Invalid value: .*: field is immutable$/);
});

/** As a client sends it back: with what the server generated. */
function withSelector(yaml: string): string {
  return JSON.stringify(created(yaml));
}

function cronJob(spec: string, name = "cj"): string {
  return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: ${name}}, spec: {jobTemplate: {spec: {${work}}}, ${spec}}}`;
}

const cronJobs: readonly (readonly [string, string, readonly string[]])[] = [
  ["A plain cron job is fine", cronJob('schedule: "*/5 * * * *"'), []],
  ["A cron job has a schedule", cronJob("suspend: true"), ["spec.schedule: Required value"]],
  [
    "A schedule that never was one is refused",
    cronJob('schedule: "* * * *"'),
    ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
  ],
  [
    "A time zone stands in its field",
    cronJob('schedule: "TZ=UTC 0 * * * *"'),
    [
      'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  ],
  [
    "A time zone exists",
    cronJob('schedule: "@hourly", timeZone: Mars/Base'),
    ['spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'],
  ],
  [
    "Concurrency is one of three",
    cronJob('schedule: "@hourly", concurrencyPolicy: Maybe'),
    [
      'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"',
    ],
  ],
  [
    "The name leaves room for the jobs'",
    cronJob('schedule: "@hourly"', "c".repeat(53)),
    [`metadata.name: Invalid value: "${"c".repeat(53)}": must be no more than 52 characters`],
  ],
];

for (const [name, yaml, expected] of cronJobs) {
  test(name, () => assert.deepEqual(onCreate(yaml), expected));
}
