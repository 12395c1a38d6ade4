/**
 * What the containers of hollow pods use of CPU and memory: as the pod's annotations say, kwok's names, as rules
 * say, or a share of what they ask for.
 *
 *   kwok.x-k8s.io/usage-cpu: "250m"       of each container
 *   kwok.x-k8s.io/usage-memory: "64Mi"
 */
import type { Container, Pod } from "#api/gen/types.ts";
import { ruledNanos, type UsageRule } from "./usage-rules.ts";
import { formatQuantity, quantityOf, tryParseQuantity } from "#api/values/quantity.ts";

/** CPU in billionths of a core, memory in bytes. */
interface Usage {
  readonly cpuNanos: bigint;
  readonly memoryBytes: bigint;
}

interface ContainerUsage extends Usage {
  readonly name: string;
}

const annotations = {
  cpu: "kwok.x-k8s.io/usage-cpu",
  memory: "kwok.x-k8s.io/usage-memory",
} as const;

/** Usage as a percentage of the request, with minimums: without a request, kwok's usage of a container. */
const shares = {
  cpu: { percent: 10n, leastNanos: 1_000_000n },
  memory: { percent: 50n, leastNanos: 1_048_576n * 1_000_000_000n },
} as const;

/** Maximum: 2^63 - 1 bytes, or billionths of a core, which readers of metrics can hold. Limits hostile annotations. */
const mostNanos = { cpu: 2n ** 63n - 1n, memory: (2n ** 63n - 1n) * 1_000_000_000n } as const;

/** Returns the usage of the running containers; empty for a pod that does not run. */
export function podUsage(pod: Pod, rules: readonly UsageRule[] = []): readonly ContainerUsage[] {
  if (pod.status?.phase !== "Running") return [];
  const sidecars = (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  return [...(pod.spec?.containers ?? []), ...sidecars].map((container) => ({
    name: container.name,
    cpuNanos: usageOf(pod, container, "cpu", rules),
    memoryBytes: usageOf(pod, container, "memory", rules) / 1_000_000_000n,
  }));
}

/** Returns the usage in billionths of the resource's unit. */
function usageOf(
  pod: Pod,
  container: Container,
  resource: "cpu" | "memory",
  rules: readonly UsageRule[],
): bigint {
  const said =
    nanosOf(pod.metadata?.annotations?.[annotations[resource]]) ??
    ruledNanos(rules, pod, container.name, resource);
  if (said !== undefined) return said < mostNanos[resource] ? said : mostNanos[resource];
  const asked = nanosOf(container.resources?.requests?.[resource]) ?? 0n;
  const { percent, leastNanos } = shares[resource];
  const share = (asked * percent) / 100n;
  return share > leastNanos ? share : leastNanos;
}

/** Undefined: the text is absent, not a quantity, or negative. */
function nanosOf(text: string | undefined): bigint | undefined {
  const nanos = text === undefined ? undefined : tryParseQuantity(text)?.nanos;
  return nanos === undefined || nanos < 0n ? undefined : nanos;
}

export function sumOfUsage(list: readonly Usage[]): Usage {
  let [cpuNanos, memoryBytes] = [0n, 0n];
  for (const one of list) {
    cpuNanos += one.cpuNanos;
    memoryBytes += one.memoryBytes;
  }
  return { cpuNanos, memoryBytes };
}

/** Formats usage as metrics-server does: CPU as `250000000n`, memory of `64Mi` in Ki. */
export function usageTexts({ cpuNanos, memoryBytes }: Usage): Readonly<Record<string, string>> {
  const memory = quantityOf(memoryBytes, "BinarySI");
  return {
    cpu: formatQuantity({ nanos: cpuNanos, format: "DecimalSI" }),
    memory: formatQuantity(memory),
  };
}
