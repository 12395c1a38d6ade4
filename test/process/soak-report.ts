/** What a soak tells while it runs, and whether memory grew without bound. Pure: numbers in, text and verdicts out. */

/** Ages of events in whole milliseconds; what is older counts as the oldest. */
export class Ages {
  static readonly msMax = 10_000;
  readonly #counts = new Uint32Array(Ages.msMax + 1);
  #total = 0;

  add(ageMs: number): void {
    const at = Math.min(Math.max(Math.round(ageMs), 0), Ages.msMax);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** undefined when there was none; begins anew. */
  take(share: number): number | undefined {
    const wanted = Math.ceil(this.#total * share);
    let seen = 0;
    const at = this.#counts.findIndex((count) => (seen += count) >= wanted);
    const found = this.#total === 0 ? undefined : at;
    this.#counts.fill(0);
    this.#total = 0;
    return found;
  }
}

export interface MemorySample {
  readonly minute: number;
  readonly bytes: number;
}

/** In fewer minutes caches are still filling: the plane keeps five minutes of history. */
export const judgedMinutesMin = 40;
/** What a quarter may hold above the one before the last: the collector's and the allocator's mood. */
const growthMax = 1.25;
const slackBytes = 64e6;

export type MemoryVerdict =
  | { readonly kind: "bounded" | "growing"; readonly earlierMb: number; readonly laterMb: number }
  | { readonly kind: "not-judged"; readonly why: string };

/** The median of the last quarter beside that of the second: in the first caches fill. */
export function judgeMemory(samples: readonly MemorySample[], minutes: number): MemoryVerdict {
  if (minutes < judgedMinutesMin) {
    return { kind: "not-judged", why: `shorter than ${judgedMinutesMin} minutes` };
  }
  const median = (from: number, to: number): number => {
    const inside = samples
      .filter(({ minute }) => minute >= minutes * from && minute <= minutes * to)
      .map(({ bytes }) => bytes)
      .sort((a, b) => a - b);
    return inside[inside.length >> 1] ?? Number.NaN;
  };
  const earlier = median(0.25, 0.5);
  const later = median(0.75, 1);
  if (Number.isNaN(earlier) || Number.isNaN(later))
    return { kind: "not-judged", why: "no samples" };
  const kind = later <= earlier * growthMax + slackBytes ? "bounded" : "growing";
  return { kind, earlierMb: megabytes(earlier), laterMb: megabytes(later) };
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
