/**
 * An index of many policy rules that answers one question: whether any of them allows a request.
 *
 * In     the rules of one role, as they are stored.
 * Holds  for each of verb, group and resource the rules that name it, and the rules that name so many that
 *        they are always checked; long lists as sets.
 * Cost   built in time linear in the role; a question checks the rules of the rarest of its three words.
 */
import { ruleAllows, urlMatches } from "./policy-rules.ts";
import type { PolicyQuestion, PolicyRule } from "./policy-rules.ts";

/** Up to this many rules are checked one by one. */
const fewRules = 8;
/** Up to this many entries a list is searched linearly. */
const fewEntries = 16;

export class RuleIndex {
  readonly #rules: readonly CompiledRule[];
  readonly #verbs = new Words();
  readonly #groups = new Words();
  readonly #resources = new Words();

  constructor(rules: readonly PolicyRule[]) {
    this.#rules = rules.map((rule) => new CompiledRule(rule));
    if (rules.length <= fewRules) return;
    rules.forEach((rule, at) => {
      this.#verbs.add(rule.verbs, at);
      this.#groups.add(rule.apiGroups ?? [], at);
      this.#resources.add(rule.resources ?? [], at);
    });
  }

  allows(question: PolicyQuestion): boolean {
    if (this.#rules.length <= fewRules) return this.#rules.some((rule) => rule.allows(question));
    return this.#candidates(question).some((places) =>
      places.some((at) => this.#rules[at]?.allows(question) === true),
    );
  }

  #candidates({
    isResourceRequest,
    verb,
    group,
    resource,
    subresource,
  }: PolicyQuestion): Candidates {
    const byVerb = this.#verbs.of([verb]);
    if (!isResourceRequest) return byVerb;
    const names =
      subresource === "" ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
    return rarest([byVerb, this.#groups.of([group]), this.#resources.of(names)]);
  }
}

/** Lists of rule indexes; a rule in two of them is checked twice. */
export type Candidates = readonly (readonly number[])[];

export function rarest(all: readonly Candidates[]): Candidates {
  const sizeOf = (candidates: Candidates): number =>
    candidates.reduce((sum, places) => sum + places.length, 0);
  return all.reduce((least, other) => (sizeOf(other) < sizeOf(least) ? other : least));
}

/** Index from a word to the rules that contain it. */
export class Words {
  readonly #named = new Map<string, number[]>();
  /** Rules with `*`, or with too many words to index each of them. */
  readonly #always: number[] = [];

  add(words: readonly string[], at: number): void {
    if (words.length > fewEntries || words.includes("*")) {
      this.#always.push(at);
      return;
    }
    for (const word of words) {
      const places = this.#named.get(word);
      if (places === undefined) this.#named.set(word, [at]);
      else places.push(at);
    }
  }

  of(words: readonly string[]): Candidates {
    return [this.#always, ...words.map((word) => this.#named.get(word) ?? [])];
  }
}

/** A rule with its long lists converted to sets. */
class CompiledRule {
  readonly #rule: PolicyRule;
  readonly #isLong: boolean;
  /** Created when first needed. */
  readonly #sets = new Map<string, ReadonlySet<string>>();

  constructor(rule: PolicyRule) {
    this.#rule = rule;
    const lists = [rule.verbs, rule.apiGroups, rule.resources, rule.resourceNames];
    this.#isLong = lists.some((list) => (list?.length ?? 0) > fewEntries);
  }

  allows(question: PolicyQuestion): boolean {
    if (!this.#isLong) return ruleAllows(this.#rule, question);
    const { verb, group, resource, subresource, name } = question;
    if (!this.#hasOrAll("verbs", verb)) return false;
    if (!question.isResourceRequest) {
      return (this.#rule.nonResourceURLs ?? []).some((url) => urlMatches(url, question.path));
    }
    if (!this.#hasOrAll("apiGroups", group)) return false;
    const names =
      subresource === "" ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
    if (!this.#has("resources", "*") && !names.some((each) => this.#has("resources", each))) {
      return false;
    }
    return (this.#rule.resourceNames ?? []).length === 0 || this.#has("resourceNames", name);
  }

  #hasOrAll(field: ListField, wanted: string): boolean {
    return this.#has(field, "*") || this.#has(field, wanted);
  }

  #has(field: ListField, wanted: string): boolean {
    const list = this.#rule[field] ?? [];
    if (list.length <= fewEntries) return list.includes(wanted);
    const set = this.#sets.get(field) ?? new Set(list);
    this.#sets.set(field, set);
    return set.has(wanted);
  }
}

type ListField = "verbs" | "apiGroups" | "resources" | "resourceNames";
