/** A KubeSchedulerConfiguration: what is taken, and that everything else is refused by its path. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { SchedulerFlags } from "./flags.ts";
import { readSchedulerConfig } from "./config.ts";

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
    options.profiles.map(({ schedulerName, preempts }) => [schedulerName, preempts]),
    [
      ["default-scheduler", true],
      ["no-scoring-scheduler", false],
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

for (const [body, refusal] of [
  ["extenders: [{ urlPrefix: http://127.0.0.1 }]\n", /extenders is not supported here/],
  [
    "profiles: [{ schedulerName: a }, { schedulerName: a }]\n",
    /profiles\[1\]\.schedulerName is that of another profile/,
  ],
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: Mine }] } } }]\n",
    /score\.enabled\[0\]\.name must be a built-in plugin: /,
  ],
  [
    "profiles: [{ plugins: { score: { enabled: [{ name: ImageLocality }] } } }]\n",
    /ImageLocality is not built in here/,
  ],
  [
    "profiles: [{ plugins: { bind: { disabled: [{ name: '*' }] } } }]\n",
    /plugins\.bind\.disabled is not supported here/,
  ],
  [
    "profiles: [{ plugins: { multiPoint: { disabled: [{ name: PrioritySort }] } } }]\n",
    /PrioritySort cannot be switched off here/,
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
  ["profiles: [{ plugins: { sort: {} } }]\n", /plugins\.sort is no extension point/],
  [
    "profiles: [{ pluginConfig: [{ name: VolumeBinding, args: { bindTimeoutSeconds: 5 } }] }]\n",
    /bindTimeoutSeconds must be 600/,
  ],
  [
    "profiles: [{ pluginConfig: [{ name: NodePorts, args: { x: 1 } }] }]\n",
    /args\.x is not supported here/,
  ],
  [
    "profiles: [{ pluginConfig: [{ name: NodePorts, args: { kind: Other } }] }]\n",
    /args\.kind must be NodePortsArgs/,
  ],
  [
    "profiles: [{ pluginConfig: [{ name: NodeResourcesFit, args: { scoringStrategy: { type: RequestedToCapacityRatio } } }] }]\n",
    /must have at least one point/,
  ],
  [
    "profiles: [{ pluginConfig: [{ name: NodeResourcesFit, args: { scoringStrategy: { resources: [{ name: gpu }] } } }] }]\n",
    /name must be cpu or memory/,
  ],
  [
    "profiles: [{ pluginConfig: [{ name: NodeAffinity, args: { addedAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [{ key: a, operator: Is }] } }] } } }] }]\n",
    /operator must be In or /,
  ],
  ["profiles: 7\n", /profiles must be a list/],
  ["podInitialBackoffSeconds: 20\n", /podMaxBackoffSeconds must not be less/],
  ["leaderElection: { leaseDuration: soon }\n", /leaseDuration must be a duration/],
  ["leaderElection: { resourceLock: endpoints }\n", /resourceLock must be leases/],
  ["kind: Other\n", /is no YAML|must be a KubeSchedulerConfiguration/],
] as const) {
  test(`refused: ${body.slice(0, 90).trim()}`, () => {
    assert.throws(() => read(body), refusal);
  });
}
