/**
 * Builds the warning headers of one request: `299 - "text"`, each text once, with a bounded total length.
 *
 * The limits are upstream's (apiserver pkg/endpoints/filters/warning.go): 4,096 characters in total. Above that every
 * text is cut to 256, and texts that still do not fit are dropped.
 */
const totalMax = 4096;
const cutTo = 256;

export class Warnings {
  readonly #texts = new Set<string>();

  add(text: string): void {
    if (this.#texts.size < totalMax) this.#texts.add(text);
  }

  /** Header values; empty without warnings. */
  headers(): readonly string[] {
    if (this.#texts.size === 0) return [];
    const texts = [...this.#texts];
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    if (total <= totalMax) return texts.map(warningHeader);
    return fitting(texts.map((text) => text.slice(0, cutTo))).map(warningHeader);
  }
}

function fitting(texts: readonly string[]): readonly string[] {
  let total = 0;
  return texts.filter((text) => (total += text.length) <= totalMax);
}

/** Quotes a string after RFC 7234 5.5. Control characters are replaced, because they would break the header. */
function warningHeader(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the characters a header cannot hold
  const clean = text.replace(/[\u0000-\u001f\u007f]/g, " ").toWellFormed();
  return `299 - "${clean.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}
