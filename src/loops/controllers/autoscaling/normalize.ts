/**
 * Converts the number of replicas that metrics require into the number that is set, pure except for the history:
 * applies bounds, stabilization, and the rate of change (upstream's normalizeDesiredReplicas and ...WithBehaviors).
 * Texts are upstream's.
 *
 * Without `behavior`  down only to the highest recommendation of the window; up to twice as many, or 4, per round.
 * With it             between the lowest recommendation of one window and the highest of the other; at the rate of the
 *                     policies.
 */
import type { HorizontalPodAutoscaler, HPAScalingRules } from "#api/gen/types.ts";
import { ceilReplicas, int32Max } from "./amounts.ts";
import type { ScaleHistory } from "./history.ts";
import type { Said } from "./said.ts";

interface Asked {
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly nowMs: number;
  readonly downscaleStabilizationMs: number;
}

export interface Normalized {
  readonly replicas: number;
  readonly ableToScale: Said;
  readonly scalingLimited: Said;
}

interface Limit {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
}

/** Bounds the recommendation by the rules, and records it. */
export function normalize(
  { spec }: HorizontalPodAutoscaler,
  history: ScaleHistory,
  asked: Asked,
): Normalized {
  const rules = spec?.behavior === undefined ? undefined : withDefaults(spec.behavior, asked);
  const stable =
    rules === undefined ? stabilizeDown(history, asked) : stabilize(history, asked, rules);
  history.recommend(asked.desired, asked.nowMs);
  const next = { ...asked, desired: stable.replicas };
  const limit = rules === undefined ? limitPlainly(next) : limitByRules(history, next, rules);
  const isStabilized = stable.replicas !== asked.desired;
  return {
    replicas: limit.replicas,
    ableToScale: isStabilized ? say("True", stable) : say("True", ready),
    scalingLimited: say(limit.replicas === stable.replicas ? "False" : "True", limit),
  };
}

function say(status: Said["status"], { reason, message }: Omit<Limit, "replicas">): Said {
  return { status, reason, message };
}

const ready = { reason: "ReadyForNewScale", message: "recommended size matches current size" };
const down = {
  reason: "ScaleDownStabilized",
  message:
    "recent recommendations were higher than current one, applying the highest recent recommendation",
};
const up = {
  reason: "ScaleUpStabilized",
  message:
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
};
const withinRange = {
  reason: "DesiredWithinRange",
  message: "the desired count is within the acceptable range",
};
const tooMany = {
  reason: "TooManyReplicas",
  message: "the desired replica count is more than the maximum replica count",
};
const tooFew = {
  reason: "TooFewReplicas",
  message: "the desired replica count is less than the minimum replica count",
};
const tooFastUp = {
  reason: "ScaleUpLimit",
  message: "the desired replica count is increasing faster than the maximum scale rate",
};
const tooFastDown = {
  reason: "ScaleDownLimit",
  message: "the desired replica count is decreasing faster than the maximum scale rate",
};

function stabilizeDown(history: ScaleHistory, asked: Asked): Limit {
  const { desired, downscaleStabilizationMs, nowMs } = asked;
  const recent = history.recommended(downscaleStabilizationMs, nowMs);
  return { ...down, replicas: Math.max(desired, ...recent) };
}

/** As upstream, so that a wrong measurement at the start does not fill the cluster. */
function limitPlainly({ current, desired, min, max }: Asked): Limit {
  const fastest = Math.min(int32Max, Math.max(2 * current, 4));
  if (desired < min) return { ...tooFew, replicas: min };
  const most = Math.min(max, fastest);
  if (desired > most) return { ...(max > fastest ? tooFastUp : tooMany), replicas: most };
  return { ...withinRange, replicas: desired };
}

interface Rules {
  readonly windowMs: number;
  readonly select: string;
  readonly policies: NonNullable<HPAScalingRules["policies"]>;
}

interface Behavior {
  readonly up: Rules;
  readonly down: Rules;
}

/** Adds upstream's defaults, which an API server may have omitted. */
function withDefaults(
  { scaleUp, scaleDown }: NonNullable<HorizontalPodAutoscaler["spec"]["behavior"]>,
  { downscaleStabilizationMs }: Asked,
): Behavior {
  return {
    up: rulesOf(scaleUp, 0, [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]),
    down: rulesOf(scaleDown, downscaleStabilizationMs, [
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]),
  };
}

function rulesOf(
  rules: HPAScalingRules | undefined,
  windowMs: number,
  policies: Rules["policies"],
): Rules {
  const given = rules?.stabilizationWindowSeconds;
  return {
    windowMs: given === undefined ? windowMs : given * 1000,
    select: rules?.selectPolicy ?? "Max",
    policies: rules?.policies ?? policies,
  };
}

function stabilize(history: ScaleHistory, asked: Asked, rules: Behavior): Limit {
  const { current, desired, nowMs } = asked;
  const lowest = Math.min(desired, ...history.recommended(rules.up.windowMs, nowMs));
  const highest = Math.max(desired, ...history.recommended(rules.down.windowMs, nowMs));
  const replicas = Math.min(Math.max(current, lowest), highest);
  return { ...(desired >= current ? up : down), replicas };
}

function limitByRules(history: ScaleHistory, asked: Asked, rules: Behavior): Limit {
  const { current, desired, min, max } = asked;
  if (desired > current) {
    const fastest = Math.max(current, mostUp(history, asked, rules.up));
    const most = Math.min(max, fastest);
    if (desired > most) return { ...(max > fastest ? tooFastUp : tooMany), replicas: most };
  } else if (desired < current) {
    const fastest = Math.min(current, leastDown(history, asked, rules.down));
    const least = Math.max(min, fastest);
    if (desired < least) return { ...(min < fastest ? tooFastDown : tooFew), replicas: least };
  }
  return { ...withinRange, replicas: desired };
}

function mostUp(history: ScaleHistory, { current, nowMs }: Asked, rules: Rules): number {
  if (rules.select === "Disabled") return current;
  const allowed = rules.policies.map(({ type, value, periodSeconds }) => {
    const before = history.before(current, periodSeconds * 1000, nowMs);
    return type === "Pods" ? before + value : ceilReplicas(before * (1 + value / 100));
  });
  return rules.select === "Min" ? Math.min(int32Max, ...allowed) : Math.max(-int32Max, ...allowed);
}

function leastDown(history: ScaleHistory, { current, nowMs }: Asked, rules: Rules): number {
  if (rules.select === "Disabled") return current;
  const allowed = rules.policies.map(({ type, value, periodSeconds }) => {
    const before = history.before(current, periodSeconds * 1000, nowMs);
    return type === "Pods" ? before - value : Math.trunc(before * (1 - value / 100));
  });
  // The smallest change down is the highest number of replicas.
  return rules.select === "Min" ? Math.max(-int32Max, ...allowed) : Math.min(int32Max, ...allowed);
}
