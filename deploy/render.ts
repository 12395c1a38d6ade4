/**
 * The kustomize bases, made of the chart: `node deploy/render.ts` writes them, test/deploy/chart.test.ts compares.
 * Needs helm on the PATH.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const chart = join(import.meta.dirname, "helm", "pilothouse");
const namespace = "pilothouse";

interface Base {
  readonly part: string;
  readonly values: readonly string[];
}

const bases: readonly Base[] = [
  { part: "relay", values: ["relay.tls.secretName=pilothouse-relay-tls"] },
  {
    part: "sink",
    values: [
      "relay.enabled=false",
      "sink.enabled=true",
      "sink.sinks[0].name=pods",
      "sink.sinks[0].redis.url=redis://redis:6379",
      "sink.sinks[0].redis.stream=k8s:{resource}",
      "sink.sinks[0].resources[0].resource=v1/pods",
    ],
  },
  { part: "doctor", values: ["relay.enabled=false", "doctor.enabled=true"] },
];

/** File below `kustomize`, and its text. */
export function renderBases(helm: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const { part, values } of bases) {
    files.set(`${part}/${part}.yaml`, manifestOf(helm, values));
    files.set(`${part}/kustomization.yaml`, kustomization(part));
  }
  return files;
}

/** What helm renders of the chart; throws with what it said. */
export function renderChart(helm: string, values: readonly string[]): string {
  const sets = values.flatMap((value) => ["--set", value]);
  const place = ["--namespace", namespace, "--kube-version", "1.36.0"];
  const args = ["template", "pilothouse", chart, ...place, ...sets];
  const { stdout, stderr, status } = spawnSync(helm, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`helm template: ${stderr}`);
  return stdout;
}

/** Nothing in it says that helm manages it. */
function manifestOf(helm: string, values: readonly string[]): string {
  const ofHelm = /^ *(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n|^# Source: .*\n/gm;
  const text = renderChart(helm, values).replaceAll(ofHelm, "");
  return `# Made of deploy/helm by deploy/render.ts.\n${text}`;
}

function kustomization(part: string): string {
  const lines = ["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization"];
  return [...lines, `namespace: ${namespace}`, "resources:", `  - ${part}.yaml`, ""].join("\n");
}

if (import.meta.main) {
  for (const [path, text] of renderBases("helm")) {
    const file = join(import.meta.dirname, "kustomize", path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }
}
