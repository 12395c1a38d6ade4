/**
 * Explains how the gate treated a request, for callers with the right to see it. Example: `level=workload-low;
 * schema=service-accounts; ...`.
 *
 * Form   `name=value` joined by `; `, with a closed alphabet. Values are percent-encoded, so the name of an object or
 *        user can neither end a header nor look like another part.
 */
export interface GateExplanation {
  readonly level: string;
  readonly schema: string;
  /** Flow distinguisher: the user's name, the namespace, or "". */
  readonly flow: string;
  readonly seats: number;
  /** Number of seats after the answer, for the watchers of the object. */
  readonly finalSeats: number;
  readonly queuedMs: number;
}

export function explanationText(parts: Readonly<Record<string, string | number>>): string {
  return Object.entries(parts)
    .map(([name, value]) => `${name}=${encoded(String(value))}`)
    .join("; ");
}

/** Encodes a value. A lone surrogate is replaced, so that it does not cause a completed request to fail. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
