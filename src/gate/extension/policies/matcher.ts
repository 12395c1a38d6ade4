/**
 * matchConstraints of a policy and matchResources of a binding: decides which requests they cover, and in which version
 * they want the object.
 *
 * Holds  a rule with resourceNames covers only those names. An exclusion has precedence over every rule. A selector
 *        that cannot be evaluated is an error only where the rules cover the request.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { GroupVersionKind } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { LabelSelectorSpec } from "#api/selectors/label-selector.ts";
import { type Candidate, kindOf, type RuleEntry, RuleIndex } from "../matching/rule-index.ts";
import type { ResourceRule } from "../matching/rules.ts";
import {
  namespaceSelected,
  objectSelected,
  type Selection,
  selectionOf,
} from "../matching/selectors.ts";

interface NamedRule extends ResourceRule {
  /** Absent or empty: any name. */
  readonly resourceNames?: readonly string[];
}

/** MatchResources of admissionregistration.k8s.io. */
export interface MatchResources {
  readonly resourceRules?: readonly NamedRule[];
  readonly excludeResourceRules?: readonly NamedRule[];
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelectorSpec;
  readonly objectSelector?: LabelSelectorSpec;
}

/** Resource and kind that an expression sees. */
export interface Covered {
  readonly info: ResourceInfo;
  readonly kind: GroupVersionKind;
}

interface NamedEntry extends RuleEntry {
  readonly names: readonly string[];
}

const everything: readonly NamedRule[] = [
  { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] },
];

/** Returns all rules as one entry for an index over many policies. A policy that is no candidate there does not match. */
export function indexEntry(resources: MatchResources | undefined): RuleEntry {
  const { resourceRules = [] } = resources ?? {};
  const rules = resourceRules.length === 0 ? everything : resourceRules;
  return { rules, isExact: resources?.matchPolicy === "Exact" };
}

export class ResourceMatcher {
  readonly #rules: RuleIndex<NamedEntry> | undefined;
  readonly #excluded: RuleIndex<NamedEntry>;
  readonly #namespaces: Selection;
  readonly #objects: Selection;

  /** @throws SelectorError. */
  constructor(resources: MatchResources, served: () => readonly ResourceInfo[]) {
    const { resourceRules = [], excludeResourceRules = [], matchPolicy } = resources;
    const entries = (rules: readonly NamedRule[]): RuleIndex<NamedEntry> =>
      new RuleIndex(
        rules.map((rule) => entryOf(rule, matchPolicy === "Exact")),
        served,
      );
    this.#rules = resourceRules.length === 0 ? undefined : entries(resourceRules);
    this.#excluded = entries(excludeResourceRules);
    this.#namespaces = selectionOf(resources.namespaceSelector);
    this.#objects = selectionOf(resources.objectSelector);
  }

  /** @throws ApiError 404 if the namespace for the selector does not exist. */
  cover(request: AdmissionRequest, lookup: Lister): Covered | undefined {
    if (!objectSelected(this.#objects, request)) return undefined;
    if (choose(this.#excluded, request) !== undefined) return undefined;
    const covered =
      this.#rules === undefined ? coveredItself(request) : choose(this.#rules, request);
    if (covered === undefined) return undefined;
    return namespaceSelected(this.#namespaces, request, lookup) ? covered : undefined;
  }
}

function entryOf(rule: NamedRule, isExact: boolean): NamedEntry {
  return { rules: [rule], isExact, names: rule.resourceNames ?? [] };
}

function coveredItself({ info, subresource }: AdmissionRequest): Covered {
  return { info, kind: kindOf(info, subresource) };
}

/** Returns the covered resource. Rules for the request's version take precedence over rules for another version. */
function choose(index: RuleIndex<NamedEntry>, request: AdmissionRequest): Covered | undefined {
  if (index.isEmpty) return undefined;
  const named = index.candidates(request).filter((one) => isNamed(one, request.name));
  return named.find(({ info }) => info === request.info) ?? named[0];
}

function isNamed({ entry: { names } }: Candidate<NamedEntry>, name: string): boolean {
  return names.length === 0 || names.includes(name);
}
