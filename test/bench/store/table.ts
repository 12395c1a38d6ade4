/** Tables of a benchmark: columns as wide as their widest cell, figures to the right; Markdown too. */

export type Cell = string | number;

export function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  const texts = rows.map((row) => row.map((cell) => text(cell)));
  const widths = head.map((name, i) =>
    Math.max(name.length, ...texts.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => pad(cell, widths[i] as number, i)).join(" | ")} |\n`;
  const rule = widths.map((width, i) => (i < 2 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  process.stdout.write(`\n${title}\n\n${line(head)}${line(rule)}${texts.map(line).join("")}`);
}

/** The first two columns are names. */
function pad(cell: string, width: number, column: number): string {
  return column < 2 ? cell.padEnd(width) : cell.padStart(width);
}

function text(cell: Cell): string {
  return typeof cell === "string" ? cell : figure(cell);
}

/** Three digits that count, thousands apart. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else process.stderr.write(`${text}\n`);
}

export function progressDone(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
