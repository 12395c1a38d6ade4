/** Numbers that may be shares of a whole: `3` or `"25%"`. */

export function scaledUp(value: number | string, total: number): number {
  return scaled(value, total, Math.ceil);
}

export function scaledDown(value: number | string, total: number): number {
  return scaled(value, total, Math.floor);
}

function scaled(value: number | string, total: number, round: (n: number) => number): number {
  if (typeof value === "number") return value;
  return round((Number.parseInt(value, 10) * total) / 100);
}
