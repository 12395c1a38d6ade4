/**
 * Compiles webhook configurations: one list of hooks per type, sorted by the name of the configuration.
 *
 * Holds  a change of a configuration makes a new list; a list is never changed in place. A request uses one list from
 *        its first hook to its last.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { LabelSelectorSpec } from "#api/selectors/label-selector.ts";
import {
  type CompiledConditions,
  type ConditionEvaluator,
  type MatchCondition,
} from "../matching/conditions.ts";
import { type RuleEntry, RuleIndex } from "../matching/rule-index.ts";
import type { ResourceRule } from "../matching/rules.ts";
import { type Selection, selectionOf } from "../matching/selectors.ts";

export type HookType = "mutating" | "validating";

/** Location of a webhook, as its configuration gives it. */
export interface HookTarget {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  /** PEM in base64. Absent or "": the authorities that the host trusts. */
  readonly caBundle?: string;
}

export interface Hook extends RuleEntry {
  readonly name: string;
  readonly configuration: string;
  /** Distinguishes webhooks of the same name: configuration, name, index. */
  readonly id: string;
  readonly target: HookTarget;
  readonly timeoutMs: number;
  /** Whether failurePolicy is Ignore. */
  readonly failsOpen: boolean;
  /** Whether sideEffects is None or NoneOnDryRun. */
  readonly allowsDryRun: boolean;
  /** Whether reinvocationPolicy is IfNeeded. */
  readonly isReinvocable: boolean;
  /** First version of AdmissionReview that both sides know. Undefined: there is none. */
  readonly reviewVersion: "v1" | "v1beta1" | undefined;
  readonly namespaces: Selection;
  readonly objects: Selection;
  /** Compiled conditions. Undefined: there are none. Conditions that cannot be evaluated yield an error. */
  readonly conditions: CompiledConditions | undefined;
}

interface Webhook {
  readonly name?: string;
  readonly clientConfig?: HookTarget;
  readonly rules?: readonly ResourceRule[];
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelectorSpec;
  readonly objectSelector?: LabelSelectorSpec;
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
  readonly reinvocationPolicy?: string;
  readonly matchConditions?: readonly MatchCondition[];
}

interface HookDeps {
  readonly lookup: Lister;
  /** Number that changes whenever a configuration may have changed. */
  readonly version: () => number;
  /** Resources that are served now. */
  readonly served: () => readonly ResourceInfo[];
  readonly evaluator?: ConditionEvaluator;
}

const resources = {
  mutating: { group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations" },
  validating: {
    group: "admissionregistration.k8s.io",
    resource: "validatingwebhookconfigurations",
  },
} as const;

/** Current webhooks of one type. */
export class HookSource {
  readonly #deps: HookDeps;
  readonly #type: HookType;
  #version = -1;
  #index: RuleIndex<Hook>;

  constructor(deps: HookDeps, type: HookType) {
    this.#deps = deps;
    this.#type = type;
    this.#index = new RuleIndex<Hook>([], deps.served);
  }

  hooks(): RuleIndex<Hook> {
    const version = this.#deps.version();
    if (version === this.#version) return this.#index;
    this.#version = version;
    const configurations = this.#deps.lookup.list(resources[this.#type], ""); // in order of names
    const hooks = configurations.flatMap((one) => compile(one, this.#deps.evaluator));
    this.#index = new RuleIndex(hooks, this.#deps.served);
    return this.#index;
  }

  /** Forgets the index, because the served resources have changed. */
  forget(): void {
    this.#index.forget();
  }
}

function compile(configuration: AnyObject, evaluator: ConditionEvaluator | undefined): Hook[] {
  const { webhooks = [] } = configuration as { readonly webhooks?: readonly Webhook[] }; // stored
  const name = configuration.metadata?.name ?? "";
  return webhooks.map((webhook, at) => hookOf(webhook, name, at, evaluator));
}

/** Reads a webhook. All values are present, because the configuration has been defaulted and validated. */
function hookOf(
  webhook: Webhook,
  configuration: string,
  at: number,
  evaluator: ConditionEvaluator | undefined,
): Hook {
  const { name = "", sideEffects = "", admissionReviewVersions: versions = [] } = webhook;
  const { matchConditions = [] } = webhook;
  const known = versions.find((version) => version === "v1" || version === "v1beta1");
  return {
    name,
    configuration,
    id: `${configuration}/${name}/${at}`,
    rules: webhook.rules ?? [],
    isExact: webhook.matchPolicy === "Exact",
    target: webhook.clientConfig ?? {},
    timeoutMs: (webhook.timeoutSeconds ?? 10) * 1000,
    failsOpen: webhook.failurePolicy === "Ignore",
    allowsDryRun: sideEffects === "None" || sideEffects === "NoneOnDryRun",
    isReinvocable: webhook.reinvocationPolicy === "IfNeeded",
    reviewVersion: known,
    namespaces: selectionOf(webhook.namespaceSelector),
    objects: selectionOf(webhook.objectSelector),
    conditions: matchConditions.length === 0 ? undefined : conditionsOf(matchConditions, evaluator),
  };
}

/** Conditions that cannot be evaluated fail closed, whatever the failurePolicy. */
function conditionsOf(
  conditions: readonly MatchCondition[],
  evaluator: ConditionEvaluator | undefined,
): CompiledConditions {
  if (evaluator !== undefined) return evaluator.open(conditions);
  const message = "this server does not evaluate matchConditions";
  return { evaluate: () => ({ kind: "error", message }) };
}
