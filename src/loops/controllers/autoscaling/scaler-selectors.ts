/**
 * An index of the selectors of all autoscalers, to find pods that two of them select.
 *
 * Cost   a query costs one look-up per label of each pod, not a match per autoscaler. Upstream's scan of all selectors
 *        under one lock limited its loop at 10,000 autoscalers.
 * Bounds one entry per autoscaler; removed with it.
 */
import type { Pod } from "#api/gen/types.ts";
import { labelsMatch, type LabelSelector } from "#api/selectors/label-selector.ts";

interface Entry {
  readonly bucket: string;
  readonly selector: LabelSelector;
}

export class ScalerSelectors {
  /** By key of the autoscaler. */
  readonly #entries = new Map<string, Entry>();
  /** Keys by namespace and the first label that a selector asks for; those that ask for none under "". */
  readonly #buckets = new Map<string, Set<string>>();

  set(key: string, selector: LabelSelector): void {
    this.delete(key);
    const bucket = bucketOf(key, selector);
    this.#entries.set(key, { bucket, selector });
    const keys = this.#buckets.get(bucket);
    if (keys === undefined) this.#buckets.set(bucket, new Set([key]));
    else keys.add(key);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const keys = this.#buckets.get(entry.bucket);
    keys?.delete(key);
    if (keys?.size === 0) this.#buckets.delete(entry.bucket);
  }

  /** Keys of all autoscalers in the namespace that select one of the pods, sorted. */
  selecting(namespace: string, pods: readonly Pod[]): readonly string[] {
    const found = new Set<string>();
    for (const { metadata } of pods) {
      for (const key of this.#candidates(namespace, metadata?.labels ?? {})) {
        const selector = this.#entries.get(key)?.selector;
        if (selector !== undefined && labelsMatch(selector, metadata?.labels)) found.add(key);
      }
    }
    return [...found].toSorted();
  }

  *#candidates(namespace: string, labels: Readonly<Record<string, string>>): Iterable<string> {
    yield* this.#buckets.get(`${namespace}/`) ?? [];
    for (const [name, value] of Object.entries(labels))
      yield* this.#buckets.get(`${namespace}/${name}=${value}`) ?? [];
  }
}

function bucketOf(key: string, { requirements }: LabelSelector): string {
  const namespace = key.slice(0, key.indexOf("/"));
  const first = requirements.find(({ operator }) => operator === "=" || operator === "==");
  return `${namespace}/${first === undefined ? "" : `${first.key}=${first.values[0] ?? ""}`}`;
}
