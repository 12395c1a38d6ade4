/**
 * What a request was at the gate, for those who ask and may know: `level=workload-low; schema=service-accounts; ...`.
 *
 * Form   `name=value` joined by `; `, names and values in a closed alphabet: values are percent-encoded, so a name of
 *        an object or user can neither end a header nor look like another part.
 */
export interface GateExplanation {
  readonly level: string;
  readonly schema: string;
  /** The flow distinguisher: the caller's own name, its namespace, or "". */
  readonly flow: string;
  readonly seats: number;
  /** Seats after the answer, for its watchers. */
  readonly finalSeats: number;
  readonly queuedMs: number;
}

export function explanationText(parts: Readonly<Record<string, string | number>>): string {
  return Object.entries(parts)
    .map(([name, value]) => `${name}=${encoded(String(value))}`)
    .join("; ");
}

/** A lone surrogate cannot be encoded, and must not fail a request that did its work. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
