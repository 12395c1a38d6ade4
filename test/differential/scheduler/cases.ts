/** Nodes and pods of a lockstep: a mixed cluster, and pods of each class that a scheduler treats differently. */
import type { Container, Node, Pod, PodSpec } from "#api/gen/types.ts";
import type { Random } from "#platform/random.ts";

export const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
const zones = ["a", "b", "c", "d", "e"];
const images = 12;
const groups = 6;
const mebibyte = 1024 * 1024;

/** `at` decides all of it. */
export function nodeOf(at: number): Node {
  const name = `n${at}`;
  const hasZone = at % 17 !== 5;
  const labels = {
    [host]: name,
    ...(hasZone ? { [zone]: zones[at % zones.length] ?? "a" } : {}),
    disk: at % 3 === 0 ? "ssd" : "hdd",
    rank: String(at % 7),
  };
  const taints = [
    ...(at % 10 === 3 ? [{ key: "dedicated", value: "x", effect: "NoSchedule" }] : []),
    ...(at % 8 === 2 ? [{ key: "spot", effect: "PreferNoSchedule" }] : []),
  ];
  const room = { cpu: String(4 + (at % 3) * 4), memory: "32Gi", pods: "110" };
  const allocatable = { ...room, "ephemeral-storage": "100Gi" };
  const held = Array.from({ length: images }, (_, i) => i).filter((i) => (at + i) % (i + 2) === 0);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    spec: { taints },
    status: {
      allocatable,
      capacity: allocatable,
      images: held.map((i) => ({
        names: [`image${i}:latest`],
        sizeBytes: (50 + i * 180) * mebibyte,
      })),
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          lastHeartbeatTime: "2026-01-01T00:00:00Z",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
  };
}

export const podClasses = [
  "plain",
  "node affinity",
  "taints",
  "spread hard",
  "spread soft",
  "spread by default",
  "anti-affinity",
  "affinity",
  "preferred affinity",
  "images",
  "host ports",
  "volumes",
  "devices",
  "extended resources",
] as const;
export type PodClass = (typeof podClasses)[number];

/** Pods of one class and group belong together: by label, by controller, by host port. */
export function podOf(podClass: PodClass, at: number, random: Random): Pod {
  const group = `g${random.below(groups)}`;
  const cpu = `${50 + 50 * random.below(12)}m`;
  const requests = { cpu, memory: `${64 * (1 + random.below(16))}Mi` };
  const container = { name: "c", image: "none", resources: { requests } };
  const labels = { app: `${podClass.replaceAll(" ", "-")}-${group}` };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `p${at}`, namespace: "default", labels },
    spec: { ...specOf(podClass, { at, container, labels, random }) },
  };
}

interface Parts {
  readonly at: number;
  readonly container: Container;
  readonly labels: Readonly<Record<string, string>>;
  readonly random: Random;
}

function specOf(podClass: PodClass, { at, container, labels, random }: Parts): PodSpec {
  const containers = [container];
  const labelSelector = { matchLabels: labels };
  const required = (topologyKey: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
  });
  const spread = (whenUnsatisfiable: string, topologyKey: string) => ({
    maxSkew: 1 + random.below(2),
    topologyKey,
    whenUnsatisfiable,
    labelSelector,
  });
  switch (podClass) {
    case "plain":
    case "spread by default":
      return { containers };
    case "node affinity":
      return { containers, ...nodeWishes(random) };
    case "taints":
      return { containers, tolerations: [{ key: "dedicated", operator: "Exists" }] };
    case "spread hard":
      return { containers, topologySpreadConstraints: [spread("DoNotSchedule", zone)] };
    case "spread soft":
      return {
        containers,
        topologySpreadConstraints: [
          spread("ScheduleAnyway", zone),
          spread("ScheduleAnyway", host),
        ].slice(0, 1 + random.below(2)),
      };
    case "anti-affinity":
      return { containers, affinity: { podAntiAffinity: required(host) } };
    case "affinity":
      return { containers, affinity: { podAffinity: required(zone) } };
    case "preferred affinity": {
      const term = { topologyKey: random.below(2) === 0 ? zone : host, labelSelector };
      const wishes = [{ weight: 1 + random.below(100), podAffinityTerm: term }];
      const wish = { preferredDuringSchedulingIgnoredDuringExecution: wishes };
      return {
        containers,
        affinity: random.below(2) === 0 ? { podAffinity: wish } : { podAntiAffinity: wish },
      };
    }
    case "images":
      return { containers: [{ ...container, image: `image${random.below(images)}` }] };
    case "host ports": {
      const ports = [{ containerPort: 80, hostPort: 8_000 + random.below(3) }];
      return { containers: [{ ...container, ports }] };
    }
    case "volumes": {
      const volumes = [{ name: "v", persistentVolumeClaim: { claimName: `v${at}` } }];
      return { containers, volumes };
    }
    case "devices":
      return { containers, resourceClaims: [{ name: "d", resourceClaimName: `d${at}` }] };
    case "extended resources": {
      const amount = String(1 + random.below(2));
      const { requests } = container.resources ?? {};
      const more = { "example.com/gpu": amount };
      const resources = { requests: { ...requests, ...more }, limits: more };
      return { containers: [{ ...container, resources }] };
    }
  }
}

function nodeWishes(random: Random): Pick<PodSpec, "affinity" | "nodeSelector"> {
  if (random.below(3) === 0) return { nodeSelector: { disk: "ssd" } };
  const expression = { key: "rank", operator: "In", values: ["1", "3", "5"] };
  const preference = { matchExpressions: [expression] };
  const wish = { weight: 1 + random.below(100), preference };
  const terms = [{ matchExpressions: [{ key: "rank", operator: "Gt", values: ["2"] }] }];
  return {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [wish],
        ...(random.below(2) === 0
          ? {}
          : { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }),
      },
    },
  };
}
