/** Where two recorded answers differ, as lines for a person and as paths for the list of known differences. */
import type { Recorded } from "./exchange.ts";

export interface Difference {
  /** `case > step number step > path into the answer`. */
  readonly at: string;
  readonly stock: unknown;
  readonly ours: unknown;
}

export function compareCase(
  name: string,
  stock: readonly Recorded[],
  ours: readonly Recorded[],
): readonly Difference[] {
  const differences: Difference[] = [];
  for (const [index, expected] of stock.entries()) {
    const at = `${name} > ${index + 1} ${expected.step} >`;
    compare(at, expected, ours[index], differences);
  }
  return differences;
}

function compare(at: string, stock: unknown, ours: unknown, out: Difference[]): void {
  if (isObject(stock) && isObject(ours) && Array.isArray(stock) === Array.isArray(ours)) {
    const keys = new Set([...Object.keys(stock), ...Object.keys(ours)]);
    for (const key of keys) {
      const [a, b] = [stock[key], ours[key]].map(key === "managedFields" ? byManager : asIs);
      compare(`${at} ${key}`, a, b, out);
    }
    return;
  }
  if (stock !== ours && withShownInOrder(stock) !== withShownInOrder(ours)) {
    out.push({ at, stock, ours });
  }
}

/** An object that a message shows as JSON in quotes. */
const shownObject = /Invalid value: ("\{(?:[^"\\]|\\.)*\}")/g;

/** Upstream shows the fields of a struct in Go's order, ours in that of the client. */
function withShownInOrder(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value.replace(shownObject, (all, quoted: string) => {
    try {
      return `Invalid value: ${JSON.stringify(inOrder(JSON.parse(JSON.parse(quoted) as string)))}`;
    } catch {
      return all; // no JSON: some are Go's own form of a value
    }
  });
}

/** Versions differ, as the servers were asked different things before. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    fields.map(([name, member]) => [name, name === "resourceVersion" ? "<rv>" : inOrder(member)]),
  );
}

function asIs(value: unknown): unknown {
  return value;
}

/** Both servers put entries in order of seconds first, which a case may or may not cross. */
function byManager(entries: unknown): unknown {
  if (!Array.isArray(entries)) return entries;
  return [...entries].sort((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1));
}

function identityOf(entry: unknown): string {
  const { operation, manager, apiVersion, subresource } = entry as Readonly<
    Record<string, unknown>
  >;
  return JSON.stringify([operation, manager, apiVersion, subresource]);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export function show({ at, stock, ours }: Difference): string {
  return `${at}\n    stock ${short(stock)}\n    ours  ${short(ours)}`;
}

function short(value: unknown): string {
  const text = value === undefined ? "(absent)" : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}...` : text;
}
