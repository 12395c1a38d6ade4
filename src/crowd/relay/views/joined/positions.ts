/**
 * A position of a joined view: one resourceVersion for each of its resources, in the order of its inputs, because each
 * comes on a stream of its own. As text: `812-790-811`.
 *
 * Holds  positions of one replica never fall; a position that is not above another in any part has nothing that the
 *        other lacks.
 */
export type Positions = readonly number[];

export function positionsText(positions: Positions): string {
  return positions.map(Math.floor).join("-");
}

/** Undefined: the text is no position of `count` resources. */
export function parsePositions(text: string, count: number): Positions | undefined {
  const parts = text.split("-");
  if (parts.length !== count || !parts.every((part) => /^[0-9]{1,15}$/.test(part)))
    return undefined;
  return parts.map(Number);
}

export function isWithin(inner: Positions, outer: Positions): boolean {
  return inner.every((one, at) => one <= (outer[at] ?? 0));
}
