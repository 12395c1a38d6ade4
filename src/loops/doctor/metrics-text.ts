/**
 * The Prometheus text format, as much of it as rules read: `name{label="value"} number`.
 *
 * Bounds: only names that `isWanted` accepts are kept, `seriesMax` of them; a line that is longer than
 * `lineMax`, has more than `labelsMax` labels, or is no sample is dropped and counted.
 */
export interface Series {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

export interface Metrics {
  readonly series: readonly Series[];
  readonly dropped: number;
}

const seriesMax = 100_000;
const lineMax = 4_096;
const labelsMax = 64;
const samplePattern = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?[ \t]+(\S+)/;
const labelPattern = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string, isWanted: (name: string) => boolean): Metrics {
  const series: Series[] = [];
  let dropped = 0;
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const name = nameAt(text, start, Math.min(end, start + 256));
    if (name !== "" && isWanted(name)) {
      const parsed = end - start > lineMax ? undefined : parseLine(text.slice(start, end));
      if (parsed === undefined || series.length >= seriesMax) dropped++;
      else series.push(parsed);
    }
    start = end + 1;
  }
  return { series, dropped };
}

/** Returns the metric's name, or "" for a comment. Most lines are skipped, so the name is extracted before the line is parsed. */
function nameAt(text: string, start: number, end: number): string {
  let at = start;
  while (at < end && !" {\t#".includes(text.charAt(at))) at++;
  return text.slice(start, at);
}

function parseLine(line: string): Series | undefined {
  const match = samplePattern.exec(line);
  if (match === null) return undefined;
  const value = numberOf(match[3] ?? "");
  if (Number.isNaN(value)) return undefined;
  const labels = new Map<string, string>();
  for (const [, key = "", raw = ""] of (match[2] ?? "").matchAll(labelPattern)) {
    if (labels.size >= labelsMax) return undefined;
    labels.set(
      key,
      raw.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c)),
    );
  }
  return { name: match[1] ?? "", labels, value };
}

function numberOf(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}
