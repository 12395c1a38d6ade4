/** A KubeSchedulerConfiguration: what is taken, and that everything else is refused by its path. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { SchedulerFlags } from "./flags.ts";
import { readSchedulerConfig } from "./config.ts";
import { preemptionLimits } from "#scheduler/preemption-limits.ts";

const directory = mkdtempSync(join(tmpdir(), "scheduler-config-"));
after(() => rmSync(directory, { recursive: true }));
const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

function read(body: string): ReturnType<typeof readSchedulerConfig> {
  const config = join(directory, "config.yaml");
  writeFileSync(config, head + body);
  return readSchedulerConfig({ config } as SchedulerFlags);
}

/** Of the first profile: each plugin with what it has of filters and scores. */
function pluginsOf(body: string): Readonly<Record<string, readonly (string | number)[]>> {
  const [profile] = read(body).options.profiles;
  const deps = { namespaces: () => undefined, volumes: {} as never };
  const made = (profile?.plugins ?? []).map((make) => make(deps));
  return Object.fromEntries(
    made.map((plugin) => {
      const { name, preFilter, nodeFilter, roomFilter, filter, nodeScore, roomScore, score } =
        plugin;
      const filters = [preFilter, nodeFilter, roomFilter, filter].some((one) => one !== undefined);
      const weight = (nodeScore ?? roomScore ?? score)?.weight;
      return [name, [...(filters ? ["filters"] : []), ...(weight === undefined ? [] : [weight])]];
    }),
  );
}

test("an empty configuration is the default one", () => {
  const { options } = read("");
  assert.equal(options.profiles[0]?.schedulerName, "default-scheduler");
  assert.deepEqual(pluginsOf("")["TaintToleration"], ["filters", 3]);
});

test("upstream's documented examples: other weights, plugins off, several profiles, backoff, election", () => {
  const weights = `profiles:
- plugins:
    score:
      disabled: [{ name: PodTopologySpread }]
      enabled: [{ name: NodeAffinity, weight: 5 }]
    filter:
      disabled: [{ name: NodePorts }]
`;
  const plugins = pluginsOf(weights);
  assert.deepEqual(plugins["PodTopologySpread"], ["filters"]);
  assert.deepEqual(plugins["NodeAffinity"], ["filters", 5]);
  assert.deepEqual(plugins["NodePorts"], []);
  const { options, flags } = read(`podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
percentageOfNodesToScore: 50
leaderElection: { leaderElect: true, leaseDuration: 30s, resourceName: other }
profiles:
- schedulerName: default-scheduler
- schedulerName: no-scoring-scheduler
  plugins:
    preScore: { disabled: [{ name: '*' }] }
    score: { disabled: [{ name: '*' }] }
    postFilter: { disabled: [{ name: '*' }] }
`);
  assert.deepEqual(
    options.profiles.map(({ schedulerName, preemption }) => [schedulerName, preemption]),
    [
      ["default-scheduler", preemptionLimits],
      ["no-scoring-scheduler", undefined],
    ],
  );
  assert.deepEqual([options.queue.backoffFirstMs, options.queue.backoffMostMs], [2000, 20_000]);
  assert.deepEqual(
    [flags.leaderElect, flags.leaderElectLeaseDuration, flags.leaderElectResourceName],
    [true, 30_000, "other"],
  );
});

test("multiPoint speaks for all points, and a point goes before it", () => {
  const plugins = pluginsOf(`profiles:
- plugins:
    multiPoint:
      disabled: [{ name: '*' }]
      enabled: [{ name: NodeResourcesFit, weight: 7 }, { name: TaintToleration, weight: 2 }, { name: DefaultBinder }]
    score:
      enabled: [{ name: TaintToleration, weight: 9 }]
    filter:
      enabled: [{ name: NodePorts }]
      disabled: [{ name: TaintToleration }]
`);
  assert.deepEqual(plugins["NodeResourcesFit"], ["filters", 7]);
  assert.deepEqual(plugins["TaintToleration"], [9]);
  assert.deepEqual(plugins["NodePorts"], ["filters"]);
  assert.deepEqual(plugins["InterPodAffinity"], []);
});

test("arguments of plugins are taken, and defaults that are written out pass", () => {
  read(`profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{ name: cpu, weight: 3 }]
        requestedToCapacityRatio: { shape: [{ utilization: 0, score: 0 }, { utilization: 100, score: 10 }] }
  - name: InterPodAffinity
    args: { hardPodAffinityWeight: 50, ignorePreferredTermsOfExistingPods: true }
  - name: PodTopologySpread
    args: { defaultingType: List, defaultConstraints: [] }
  - name: DefaultPreemption
    args: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 }
  - name: VolumeBinding
    args: { bindTimeoutSeconds: 600 }
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{ matchExpressions: [{ key: a, operator: In, values: [b] }] }]
`);
});

test("a sample of nodes is scored only when it is asked for, by the profile before the file", () => {
  const of = (body: string) => read(body).options.profiles.map(({ sample }) => sample);
  assert.deepEqual(of(""), ["all"]);
  assert.deepEqual(of("percentageOfNodesToScore: 0\n"), ["adaptive"]);
  const profiles = "[{ schedulerName: a }, { schedulerName: b, percentageOfNodesToScore: 7 }]";
  assert.deepEqual(of(`percentageOfNodesToScore: 50\nprofiles: ${profiles}\n`), [50, 7]);
});

test("other arguments reach the profile", () => {
  const [profile] = read(`profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: { minCandidateNodesPercentage: 5, minCandidateNodesAbsolute: 0 }
  - name: VolumeBinding
    args: { bindTimeoutSeconds: 5 }
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule }]
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.org]
      scoringStrategy: { type: MostAllocated, resources: [{ name: nvidia.com/gpu, weight: 3 }] }
  - name: NodeResourcesBalancedAllocation
    args: { resources: [{ name: cpu, weight: 1 }, { name: nvidia.com/gpu, weight: 1 }] }
  - name: DynamicResources
    args: { filterTimeout: 10s, bindingTimeout: 600s }
`).options.profiles;
  assert.deepEqual(profile?.preemption, {
    minCandidateNodesPercentage: 5,
    minCandidateNodesAbsolute: 0,
  });
});

const testdata = join(import.meta.dirname, "testdata");
for (const name of readdirSync(testdata)) {
  test(`a published file runs unchanged: ${name}`, () => {
    const { options, extenders } = readSchedulerConfig({
      config: join(testdata, name),
    } as SchedulerFlags);
    assert.ok(options.profiles.length > 0);
    assert.equal(extenders.length, name.startsWith("extender") ? 1 : 0);
  });
}

test("extenders: everything of one", () => {
  const [extender] = read(`extenders:
- urlPrefix: https://127.0.0.1:8888/api
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  weight: 5
  enableHTTPS: true
  nodeCacheCapable: true
  ignorable: true
  httpTimeout: 100ms
  tlsConfig: { serverName: a, caData: aGVsbG8= }
  managedResources: [{ name: example.com/foo, ignoredByScheduler: true }]
`).extenders;
  assert.deepEqual(
    [extender?.timeoutMs, extender?.weight, extender?.tls.caPem, extender?.isIgnorable],
    [100, 5, "hello", true],
  );
});

/** In upstream's words, where upstream refuses it; compared with kube-scheduler 1.36.3. */
for (const [body, refusal] of [
  [
    "profiles: [{ schedulerName: a }, { schedulerName: a }]\n",
    /profiles\[1\]\.schedulerName: Duplicate value: profiles\[0\]\.schedulerName/,
  ],
  ["profiles: [{}, {}]\n", /profiles\[0\]\.schedulerName: Required value/],
  [
    "percentageOfNodesToScore: 101\n",
    /percentageOfNodesToScore: Invalid value: 101: not in valid range \[0-100\]/,
  ],
  [
    "profiles: [{ percentageOfNodesToScore: -1 }]\n",
    /profiles\[0\]\.percentageOfNodesToScore: Invalid value: -1: not in valid range \[0-100\]/,
  ],
  [
    "parallelism: 0\n",
    /parallelism: Invalid value: 0: should be an integer value greater than zero/,
  ],
  [
    "clientConnection: { burst: -1 }\n",
    /clientConnection\.burst: Invalid value: -1: must be non-negative/,
  ],
  [
    "podInitialBackoffSeconds: -1\npodMaxBackoffSeconds: -2\n",
    /\[podInitialBackoffSeconds: Invalid value: -1: must be greater than 0, podMaxBackoffSeconds: Invalid value: -2: must be greater than or equal to PodInitialBackoffSeconds\]/,
  ],
  [
    "leaderElection: { resourceLock: endpoints }\n",
    /leaderElection\.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"/,
  ],
  [
    "extenders: [{ urlPrefix: http://a, prioritizeVerb: p }]\n",
    /extenders\[0\]\.weight: Invalid value: 0: must have a positive weight applied to it/,
  ],
  [
    "extenders: [{ urlPrefix: http://a, bindVerb: b }, { urlPrefix: http://b, bindVerb: b }]\n",
    /extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind/,
  ],
  [
    "extenders: [{ urlPrefix: http://a, managedResources: [{ name: cpu }] }]\n",
    /extenders\[0\]\.managedResources\[0\]\.name: Invalid value: "cpu": is an invalid extended resource name/,
  ],
  ["extenders: [{ urlPrefix: ftp://a }]\n", /extenders\[0\]\.urlPrefix must be an http/],
  [
    "profiles: [{ plugins: { sort: {} } }]\n",
    /strict decoding error: unknown field "profiles\[0\]\.plugins\.sort"/,
  ],
  ["bindings: 1\n", /strict decoding error: unknown field "bindings"/],
  [
    "profiles: [{ pluginConfig: [{ name: NodePorts, args: { x: 1 } }] }]\n",
    /unknown field "profiles\[0\]\.pluginConfig\[0\]\.args\.x"/,
  ],
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: EBSLimits }] } } }]\n",
    /profiles\[0\]\.plugins\.score\.enabled\[0\]: Invalid value: "EBSLimits": was invalid in version "v1" \(KubeSchedulerConfiguration is version "kubescheduler\.config\.k8s\.io\/v1"\)/,
  ],
] as const) {
  test(`refused: ${body.slice(0, 90).trim()}`, () => {
    assert.throws(() => read(body), refusal);
  });
}

for (const [name, args, refusal] of [
  [
    "DefaultPreemption",
    "{ minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1 }",
    /\[profiles\[0\]\.pluginConfig\[0\]\.args\.minCandidateNodesPercentage: Invalid value: 101: not in valid range \[0, 100\], .*Absolute: Invalid value: -1: not in valid range \[0, inf\)\]/,
  ],
  [
    "DefaultPreemption",
    "{ minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 }",
    /cannot be zero at the same time as minCandidateNodesAbsolute/,
  ],
  [
    "InterPodAffinity",
    "{ hardPodAffinityWeight: 101 }",
    /hardPodAffinityWeight: Invalid value: 101: not in valid range \[0, 100\]/,
  ],
  [
    "PodTopologySpread",
    "{ defaultConstraints: [{ maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway }] }",
    /defaultingType: Invalid value: "System": when \.defaultConstraints are not empty/,
  ],
  [
    "PodTopologySpread",
    "{ defaultingType: Mine }",
    /defaultingType: Unsupported value: "Mine": supported values: /,
  ],
  [
    "PodTopologySpread",
    "{ defaultingType: List, defaultConstraints: [{ maxSkew: 0, topologyKey: '', whenUnsatisfiable: x, labelSelector: {} }] }",
    /maxSkew: Invalid value: 0: not in valid range \(0, inf\), .*topologyKey: Required value: can not be empty, .*whenUnsatisfiable: Unsupported value: "x": supported values: "DoNotSchedule", "ScheduleAnyway", .*labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod/,
  ],
  [
    "VolumeBinding",
    "{ bindTimeoutSeconds: -1 }",
    /bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value/,
  ],
  [
    "VolumeBinding",
    "{ shape: [{ utilization: 0, score: 0 }] }",
    /unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring/,
  ],
  [
    "NodeResourcesBalancedAllocation",
    "{ resources: [{ name: cpu, weight: 2 }, { name: cpu }] }",
    /resources\[0\]\.weight: Invalid value: 2: must be 1, .*resources\[1\]\.name: Duplicate value: "cpu"/,
  ],
  [
    "NodeResourcesFit",
    "{ scoringStrategy: { type: RequestedToCapacityRatio } }",
    /scoringStrategy\.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio/,
  ],
  [
    "NodeResourcesFit",
    "{ scoringStrategy: { type: RequestedToCapacityRatio, requestedToCapacityRatio: { shape: [{ utilization: 50, score: 11 }, { utilization: 50, score: 0 }] } } }",
    /\[.*shape\[1\]\.utilization: Invalid value: 50: values must be sorted in increasing order, .*shape\[0\]\.score: Invalid value: 11: not in valid range \[0, 10\]\]/,
  ],
  [
    "NodeResourcesFit",
    "{ ignoredResourceGroups: [a/b] }",
    /ignoredResourceGroups\[0\]: Invalid value: "a\/b": resource group name can't contain '\/'/,
  ],
  [
    "NodeResourcesFit",
    "{ scoringStrategy: { resources: [{ name: cpu, weight: 101 }] } }",
    /scoringStrategy\.type: Unsupported value: "": supported values: .*resources\[0\]\.weight: Invalid value: 101: resource weight of cpu not in valid range \(0, 100\]/,
  ],
  [
    "NodeAffinity",
    "{ addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: a, operator: Is }] }] } } }",
    /args\.addedAffinity\.requiredDuringSchedulingIgnoredDuringExecution\.nodeSelectorTerms\[0\]\.matchExpressions\[0\]\.operator: Unsupported value: "Is": supported values: "In", "NotIn", /,
  ],
  ["NodePorts", "{ kind: Other }", /args\.kind must be NodePortsArgs/],
  ["DynamicResources", "{ filterTimeout: 1s }", /filterTimeout must be 10s/],
] as const) {
  test(`refused arguments of ${name}: ${args.slice(0, 70)}`, () => {
    const body = `profiles: [{ pluginConfig: [{ name: ${name}, args: ${args} }] }]\n`;
    assert.throws(() => read(body), refusal);
  });
}

/** What upstream takes and this scheduler cannot do. */
for (const [body, refusal] of [
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: Mine }] } } }]\n",
    /score\.enabled\[0\]\.name must be a built-in plugin: /,
  ],
  [
    "profiles: [{ plugins: { bind: { disabled: [{ name: '*' }] } } }]\n",
    /plugins\.bind\.disabled must leave DefaultBinder on/,
  ],
  [
    "profiles: [{ plugins: { reserve: { disabled: [{ name: VolumeBinding }] } } }]\n",
    /plugins\.reserve\.disabled must leave VolumeBinding on/,
  ],
  [
    "profiles: [{ plugins: { multiPoint: { disabled: [{ name: PrioritySort }] } } }]\n",
    /multiPoint\.disabled must leave PrioritySort on/,
  ],
  [
    "profiles: [{ plugins: { preScore: { disabled: [{ name: InterPodAffinity }] } } }]\n",
    /preScore must not disable InterPodAffinity alone/,
  ],
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: NodeAffinity, weight: -1 }] } } }]\n",
    /weight must be a whole number/,
  ],
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: NodeAffinity }, { name: NodeAffinity }] } } }]\n",
    /NodeAffinity is enabled twice/,
  ],
  ["profiles: 7\n", /profiles must be a list/],
  ["leaderElection: { leaseDuration: soon }\n", /leaseDuration must be a duration/],
  ["kind: Other\n", /is no YAML|must be a KubeSchedulerConfiguration/],
] as const) {
  test(`refused here: ${body.slice(0, 90).trim()}`, () => {
    assert.throws(() => read(body), refusal);
  });
}

test("what stands at a point anyhow may be switched off and on again", () => {
  read(`profiles:
- plugins:
    queueSort: { disabled: [{ name: '*' }], enabled: [{ name: PrioritySort }] }
    permit: { disabled: [{ name: '*' }] }
`);
});
