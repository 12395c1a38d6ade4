/**
 * Finds the webhooks or policies whose rules cover a request, and the version of its resource that each wants.
 *
 * In     entries in their calling order; the currently served resources.
 * Holds  `candidates(request)` has every entry with a rule that covers the request, in order. With matchPolicy
 *        Equivalent a rule also covers the other versions of the same stored resource. The candidate then has the
 *        version in which the entry wants the object.
 * Cost   one look-up per request, for any number of entries: the result for (resource, subresource, operation, scope)
 *        is computed once. `coversMax` results are kept; further ones are not.
 * Absent selectors and conditions, which depend on the object (selectors.ts, conditions.ts).
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import { type GroupVersionKind, isNamespaceResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { type ResourceRule, ruleCovers, type RuleSubject } from "./rules.ts";

export interface RuleEntry {
  readonly rules: readonly ResourceRule[];
  /** Whether matchPolicy is Exact: other versions of the resource do not match. */
  readonly isExact: boolean;
}

export interface Candidate<T extends RuleEntry> {
  readonly entry: T;
  /** Resource in the version that the rule names, or in the request's own version if a rule covers it. */
  readonly info: ResourceInfo;
  /** Kind of the object in that version, or the subresource's own kind if it has one. */
  readonly kind: GroupVersionKind;
}

const coversMax = 4_096;

export class RuleIndex<T extends RuleEntry> {
  readonly #entries: readonly T[];
  readonly #served: () => readonly ResourceInfo[];
  readonly #covers = new Map<string, readonly Candidate<T>[]>();

  constructor(entries: readonly T[], served: () => readonly ResourceInfo[]) {
    this.#entries = entries;
    this.#served = served;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  candidates({
    info,
    subresource,
    operation,
    namespace,
  }: AdmissionRequest): readonly Candidate<T>[] {
    if (this.#entries.length === 0) return none;
    const isInNamespace = namespace !== "" && !isNamespaceResource(info);
    const at = `${info.group}/${info.version}/${info.resource}/${subresource} ${operation} ${isInNamespace}`;
    const known = this.#covers.get(at);
    if (known !== undefined) return known;
    const found = this.#find(info, { operation, subresource, isInNamespace });
    if (this.#covers.size >= coversMax) this.#covers.clear();
    this.#covers.set(at, found);
    return found;
  }

  /** Forgets the equivalents, because the served resources have changed. */
  forget(): void {
    this.#covers.clear();
  }

  #find(
    info: ResourceInfo,
    asked: Pick<RuleSubject, "operation" | "subresource" | "isInNamespace">,
  ): readonly Candidate<T>[] {
    const others = equivalents(info, asked.subresource, this.#served());
    return this.#entries.flatMap((entry) => {
      const covered = coveredAs(entry, info, others, asked);
      if (covered === undefined) return [];
      return [{ entry, info: covered, kind: kindOf(covered, asked.subresource) }];
    });
  }
}

const none: readonly never[] = [];

/** Returns the resource that a rule covers, by the order of the rules as upstream. */
function coveredAs(
  { rules, isExact }: RuleEntry,
  info: ResourceInfo,
  others: readonly ResourceInfo[],
  asked: Pick<RuleSubject, "operation" | "subresource" | "isInNamespace">,
): ResourceInfo | undefined {
  const covers = (rule: ResourceRule, { group, version, resource }: ResourceInfo): boolean =>
    ruleCovers(rule, { ...asked, group, version, resource });
  if (rules.some((rule) => covers(rule, info))) return info;
  if (isExact) return undefined;
  for (const rule of rules) {
    const found = others.find((other) => covers(rule, other));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the other resources with the same storage that also have the subresource. */
function equivalents(
  info: ResourceInfo,
  subresource: string,
  served: readonly ResourceInfo[],
): readonly ResourceInfo[] {
  const { storage } = info;
  if (storage === undefined) return none;
  return served.filter(
    (other) =>
      other !== info &&
      other.storage?.group === storage.group &&
      other.storage.resource === storage.resource &&
      !(other.group === info.group && other.version === info.version) &&
      (subresource === "" || other.subresources.some(({ name }) => name === subresource)),
  );
}

/** Returns the kind of the objects that a request for `subresource` sends, such as `autoscaling/v1 Scale` for `deployments/scale`. */
export function kindOf(info: ResourceInfo, subresource: string): GroupVersionKind {
  const { group, version, kind } = info;
  const own = info.subresources.find(({ name }) => name === subresource);
  if (own === undefined) return { group, version, kind };
  return { group: own.group ?? group, version: own.version ?? version, kind: own.kind };
}
