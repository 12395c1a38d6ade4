/** Numbers or percentages of a total: `3` or `"25%"`. */

export function roundUpPercent(value: number | string, total: number): number {
  return scalePercent(value, total, Math.ceil);
}

export function roundDownPercent(value: number | string, total: number): number {
  return scalePercent(value, total, Math.floor);
}

function scalePercent(value: number | string, total: number, round: (n: number) => number): number {
  if (typeof value === "number") return value;
  return round((Number.parseInt(value, 10) * total) / 100);
}
