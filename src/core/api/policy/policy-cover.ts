/**
 * Finds the parts of some policy rules that no other rule covers: permissions that a writer would grant without having
 * them.
 *
 * A part is one verb on one group, resource and name, or one verb on one URL; a rule of 150 verbs, groups
 * and resources each has 3,375,000 of them. So parts are examined in boxes: a box that one rule covers
 * completely is done, a box that no rule touches is missing completely, any other box is cut in two.
 *
 * Cost   a step compares one word of a wanted rule with one owned rule, or examines one box. Bounded by
 *        `stepsMax` and by the `missingMax` parts that are named; the answer says when a bound was reached.
 */
import { Words, rarest } from "./policy-index.ts";
import type { Candidates } from "./policy-index.ts";
import { coversResource, hasOrAll, urlMatches } from "./policy-rules.ts";
import type { PolicyRule } from "./policy-rules.ts";

export interface CoverLimits {
  readonly stepsMax: number;
  readonly missingMax: number;
}

interface Uncovered {
  /** At most `missingMax`. Parts of one wanted rule are adjacent, in the order of its verbs. */
  readonly missing: readonly PolicyRule[];
  /** False: a limit was reached, and more may be missing. */
  readonly complete: boolean;
}

export function uncoveredParts(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  limits: CoverLimits,
): Uncovered {
  const search = new CoverSearch(owned, limits);
  for (const rule of wanted) {
    search.cover(rule);
    if (search.isOver) break;
  }
  return { missing: search.missing, complete: !search.isOver };
}

/** One list of a wanted rule, with a test whether an owned rule matches a word of it. */
interface Axis {
  readonly words: readonly string[];
  readonly matches: (owned: PolicyRule, word: string) => boolean;
}

/** The rule for one combination of words, given by their index on each axis. */
type NamePart = (places: readonly number[]) => PolicyRule;

/** For one owned rule: on each axis, the number of matches among the first i words. */
type Counts = readonly Uint32Array[];

/** On each axis, the words from the first index to before the second. */
type Box = readonly (readonly [number, number])[];

/** With more words than this on an axis, owned rules are not looked up by word. */
const lookedUpMax = 32;

class CoverSearch {
  readonly missing: PolicyRule[] = [];
  isOver = false;
  readonly #owned: readonly PolicyRule[];
  readonly #limits: CoverLimits;
  /** Owned rules with a single part and no names, for which no search is needed. */
  readonly #single: ReadonlySet<string>;
  #words: OwnedWords | undefined;
  #steps = 0;

  constructor(owned: readonly PolicyRule[], limits: CoverLimits) {
    this.#owned = owned;
    this.#limits = limits;
    this.#single = new Set(owned.filter(isUnnamed).flatMap((rule) => singlePart(rule) ?? []));
  }

  get #owners(): OwnedWords {
    this.#words ??= ownedWords(this.#owned);
    return this.#words;
  }

  cover(rule: PolicyRule): void {
    const { apiGroups = [], resources = [], nonResourceURLs: urls = [], verbs } = rule;
    if (this.#single.size > 0 && this.#single.has(singlePart(rule) ?? "")) return;
    if (apiGroups.length > 0 && resources.length > 0) this.#coverResources(rule);
    if (urls.length === 0) return;
    const namePart: NamePart = ([url = 0, verb = 0]) => ({
      nonResourceURLs: [urls[url] ?? ""],
      verbs: [verbs[verb] ?? ""],
    });
    const matches = (owned: PolicyRule, word: string): boolean =>
      isUnnamed(owned) && (owned.nonResourceURLs ?? []).some((url) => urlMatches(url, word));
    this.#coverAxes([{ words: urls, matches }, verbAxis(verbs)], namePart, [
      this.#candidates(this.#owners.verbs, verbs),
    ]);
  }

  #coverResources(rule: PolicyRule): void {
    const { apiGroups = [], resources = [], resourceNames: names = [], verbs } = rule;
    const namePart: NamePart = ([group = 0, resource = 0, verb = 0, name = 0]) => ({
      apiGroups: [apiGroups[group] ?? ""],
      resources: [resources[resource] ?? ""],
      verbs: [verbs[verb] ?? ""],
      ...(names.length === 0 ? {} : { resourceNames: [names[name] ?? ""] }),
    });
    const axes: readonly Axis[] = [
      { words: apiGroups, matches: (owned, word) => hasOrAll(owned.apiGroups ?? [], word) },
      { words: resources, matches: (owned, word) => coversResource(owned.resources ?? [], word) },
      verbAxis(verbs),
      names.length === 0
        ? { words: ["any"], matches: isUnnamed }
        : { words: names, matches: isNamed },
    ];
    const resourceWords = resources.flatMap((word) => [word, anySub(word)]);
    this.#coverAxes(axes, namePart, [
      this.#candidates(this.#owners.groups, apiGroups),
      this.#candidates(this.#owners.resources, resourceWords),
      this.#candidates(this.#owners.verbs, verbs),
    ]);
  }

  #candidates(index: Words, words: readonly string[]): Candidates {
    return words.length > lookedUpMax ? [[...this.#owned.keys()]] : index.of([...new Set(words)]);
  }

  #coverAxes(axes: readonly Axis[], namePart: NamePart, lookedUp: readonly Candidates[]): void {
    if (axes.some(({ words }) => words.length === 0)) return;
    if (axes.every(({ words }) => words.length === 1)) {
      this.#coverPart(axes, namePart, rarest(lookedUp));
      return;
    }
    const touching: Counts[] = [];
    for (const at of new Set(rarest(lookedUp).flat())) {
      const owned = this.#owned[at];
      const counts = owned === undefined ? undefined : this.#countsOf(owned, axes);
      if (this.isOver) return;
      if (counts !== undefined) touching.push(counts);
    }
    this.#coverBox(
      axes.map(({ words }) => [0, words.length]),
      touching,
      namePart,
    );
  }

  /** Most rules have a single part, for which no boxes are needed. */
  #coverPart(axes: readonly Axis[], namePart: NamePart, candidates: Candidates): void {
    for (const places of candidates) {
      for (const at of places) {
        const owned = this.#owned[at];
        if (owned === undefined || !this.#step(weightOf(owned))) return;
        if (axes.every(({ words, matches }) => matches(owned, words[0] ?? ""))) return;
      }
    }
    this.#miss(
      axes.map(() => [0, 1]),
      namePart,
      [],
    );
  }

  /** Undefined when the rule matches nothing on some axis, or a limit was reached. */
  #countsOf(owned: PolicyRule, axes: readonly Axis[]): Counts | undefined {
    const all: Uint32Array[] = [];
    for (const { words, matches } of axes) {
      if (!this.#step(words.length * weightOf(owned))) return undefined;
      const counts = new Uint32Array(words.length + 1);
      words.forEach((word, at) => {
        counts[at + 1] = (counts[at] ?? 0) + (matches(owned, word) ? 1 : 0);
      });
      if (counts[words.length] === 0) return undefined;
      all.push(counts);
    }
    return all;
  }

  #coverBox(box: Box, touching: readonly Counts[], namePart: NamePart): void {
    if (!this.#step(1 + touching.length)) return;
    const inside = touching.filter((counts) => matchedOn(counts, box).every((count) => count > 0));
    const whole = (counts: Counts): boolean =>
      matchedOn(counts, box).every((count, axis) => count === widthOf(box[axis]));
    if (inside.some(whole)) return;
    if (inside.length === 0) {
      this.#miss(box, namePart, []);
      return;
    }
    const widths = box.map(widthOf);
    const longest = widths.indexOf(Math.max(...widths));
    const [from, to] = box[longest] ?? [0, 0];
    const middle = (from + to) >> 1;
    this.#coverBox(box.with(longest, [from, middle]), inside, namePart);
    if (!this.isOver) this.#coverBox(box.with(longest, [middle, to]), inside, namePart);
  }

  /** Adds every combination in the box, up to the limit. */
  #miss(box: Box, namePart: NamePart, places: readonly number[]): void {
    const range = box[places.length];
    if (range === undefined) {
      if (this.missing.length >= this.#limits.missingMax) this.isOver = true;
      else this.missing.push(namePart(places));
      return;
    }
    for (let at = range[0]; at < range[1] && !this.isOver; at++) {
      this.#miss(box, namePart, [...places, at]);
    }
  }

  #step(count: number): boolean {
    this.#steps += count;
    if (this.#steps > this.#limits.stepsMax) this.isOver = true;
    return !this.isOver;
  }
}

interface OwnedWords {
  readonly verbs: Words;
  readonly groups: Words;
  readonly resources: Words;
}

function ownedWords(owned: readonly PolicyRule[]): OwnedWords {
  const words = { verbs: new Words(), groups: new Words(), resources: new Words() };
  owned.forEach((rule, at) => {
    words.verbs.add(rule.verbs, at);
    words.groups.add(rule.apiGroups ?? [], at);
    words.resources.add(rule.resources ?? [], at);
  });
  return words;
}

/** The text of a rule with a single part about resources; undefined for all others. */
function singlePart(rule: PolicyRule): string | undefined {
  const { apiGroups = [], resources = [], nonResourceURLs = [], verbs } = rule;
  const isSingle = apiGroups.length === 1 && resources.length === 1 && verbs.length === 1;
  if (!isSingle || nonResourceURLs.length > 0) return undefined;
  return JSON.stringify([apiGroups[0], resources[0], verbs[0]]);
}

function verbAxis(verbs: readonly string[]): Axis {
  return { words: verbs, matches: (owned, word) => hasOrAll(owned.verbs, word) };
}

function isUnnamed(owned: PolicyRule): boolean {
  return (owned.resourceNames ?? []).length === 0;
}

function isNamed(owned: PolicyRule, name: string): boolean {
  return isUnnamed(owned) || (owned.resourceNames ?? []).includes(name);
}

/** `pods/log` is covered by a rule for the `log` subresource of any resource. */
function anySub(resource: string): string {
  const slash = resource.indexOf("/");
  return slash < 0 ? resource : `*${resource.slice(slash)}`;
}

/** Cost of searching a word in the lists of an owned rule: about forty entries count as one step. */
function weightOf({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
}: PolicyRule): number {
  const lists = [verbs, apiGroups, resources, resourceNames, nonResourceURLs];
  return 1 + Math.floor(lists.reduce((sum, list) => sum + (list?.length ?? 0), 0) / 40);
}

function matchedOn(counts: Counts, box: Box): readonly number[] {
  return box.map(([from, to], axis) => (counts[axis]?.[to] ?? 0) - (counts[axis]?.[from] ?? 0));
}

function widthOf(range: readonly [number, number] | undefined): number {
  return range === undefined ? 0 : range[1] - range[0];
}
