/** Lines over seconds as one SVG of panels, for documents. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
}

const width = 760;
const left = 60;
const height = 150;
const gap = 50;
const colours = ["#1f77b4", "#d62728", "#2ca02c"];

export function svgOf(panels: readonly Panel[]): string {
  const whole = panels.length * (height + gap) + 20;
  const parts = panels.map((panel, at) => panelOf(panel, at * (height + gap) + 30));
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${whole}" font-family="sans-serif" font-size="12">`;
  const ground = `<rect width="${width}" height="${whole}" fill="white"/>`;
  return `${open}\n${ground}\n${parts.join("\n")}\n</svg>\n`;
}

function panelOf({ title, lines }: Panel, top: number): string {
  const most = Math.max(1, ...lines.flatMap(({ values }) => values));
  const seconds = Math.max(2, ...lines.map(({ values }) => values.length)) - 1;
  const right = width - left - 20;
  const point = (value: number, at: number): string => {
    const x = left + (at / seconds) * right;
    const y = top + height - (value / most) * height;
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  const axis = `<path d="M${left},${top} v${height} h${right}" fill="none" stroke="#888"/>`;
  const texts = [
    `<text x="${left}" y="${top - 8}" font-weight="bold">${title}</text>`,
    `<text x="${left - 6}" y="${top + 10}" text-anchor="end">${Math.round(most)}</text>`,
    `<text x="${left - 6}" y="${top + height}" text-anchor="end">0</text>`,
    `<text x="${left + right}" y="${top + height + 14}" text-anchor="end">${seconds} s</text>`,
  ];
  const drawn = lines.map(({ name, values }, at) => {
    const colour = colours[at % colours.length];
    const legend = `<text x="${left + 420 + at * 110}" y="${top - 8}" fill="${colour}">${name}</text>`;
    const points = values.map(point).join(" ");
    return `${legend}<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  });
  return [axis, ...texts, ...drawn].join("\n");
}
