/**
 * A summary as properties of a ClusterProfile, and back.
 *
 *   nodes=200 ready=198 pods=5210 pending=3                                   property `summary.regions.pilothouse.dev`
 *   m5.large/amd64 n=200 t=dedicated=db:NoSchedule c=1500*3072*24*120,...      one `class-N.summary....` per class
 *                                                    cpu*memory*pods*nodes
 *
 * Holds  all values together are at most `summaryBytesMax`, each at most 1,024 (the standard's bound); what does not fit is
 *        left out, the smallest rooms first, so that a cut summary claims less and never more.
 * Trust  comes from a region: numbers that are no numbers, negative or beyond their bound count as 0, and a longer text is
 *        cut before it is read.
 */
import type { NodeClass, RegionSummary } from "./region-summary.ts";
import type { RoomCell } from "./room-cells.ts";

const summaryBytesMax = 4_096;
const valueBytesMax = 1_024;
const classesMax = 16;
const taintBytesMax = 200;
const suffix = "summary.regions.pilothouse.dev";

export interface SummaryProperty {
  readonly name: string;
  readonly value: string;
}

export function summaryProperties(summary: RegionSummary): readonly SummaryProperty[] {
  const { nodes, readyNodes, pods, pendingPods, isIncomplete } = summary;
  const head = `nodes=${nodes} ready=${readyNodes} pods=${pods} pending=${pendingPods}${isIncomplete ? " incomplete" : ""}`;
  const properties = [{ name: suffix, value: head }];
  let left = summaryBytesMax - head.length - suffix.length;
  for (const [at, each] of summary.classes.slice(0, classesMax).entries()) {
    const name = `class-${at}.${suffix}`;
    const text = classText(each, Math.min(valueBytesMax, left - name.length));
    if (text === undefined) break;
    properties.push({ name, value: text });
    left -= text.length + name.length;
  }
  return properties;
}

/** Returns undefined if not even the head of the class fits. */
function classText(
  { name, taints, nodes, cells }: NodeClass,
  bytesMax: number,
): string | undefined {
  const taintText = taints.join(",");
  // A class without its taints would look open to every pod, so it reports no room when they are cut.
  const isCut = taintText.length > taintBytesMax;
  let text = `${ascii(name)} n=${nodes} t=${isCut ? "" : ascii(taintText)} c=`;
  if (text.length > bytesMax) return undefined;
  if (isCut) return text;
  let comma = "";
  for (const cell of cells) {
    const next = `${comma}${cell.cpu}*${cell.memory}*${cell.pods}*${cell.nodes}`;
    if (text.length + next.length > bytesMax) break;
    text += next;
    comma = ",";
  }
  return text;
}

/** Makes every character one byte, without spaces, so that lengths are bytes and the text can be split. */
function ascii(text: string): string {
  return text.replaceAll(/[^!-~]/g, "_").slice(0, taintBytesMax);
}

/** Returns undefined if the properties contain no summary. */
export function parseSummary(properties: readonly SummaryProperty[]): RegionSummary | undefined {
  const head = properties.find(({ name }) => name === suffix)?.value.slice(0, valueBytesMax);
  if (head === undefined) return undefined;
  const count = (field: string): number =>
    numberOf(new RegExp(`(?:^| )${field}=(\\d{1,15})(?: |$)`).exec(head)?.[1]);
  const classes = properties
    .filter(({ name }) => name.endsWith(`.${suffix}`))
    .slice(0, classesMax)
    .flatMap(({ value }) => parseClass(value.slice(0, valueBytesMax)));
  return {
    nodes: count("nodes"),
    readyNodes: count("ready"),
    pods: count("pods"),
    pendingPods: count("pending"),
    classes,
    isIncomplete: head.endsWith(" incomplete"),
  };
}

function parseClass(text: string): readonly NodeClass[] {
  const parts = /^(\S+) n=(\d{1,15}) t=(\S*) c=(\S*)$/.exec(text);
  if (parts === null) return [];
  const [, name = "", nodes, taints = "", cells = ""] = parts;
  return [
    {
      name,
      nodes: numberOf(nodes),
      taints: taints === "" ? [] : taints.split(","),
      cells: cells === "" ? [] : cells.split(",").flatMap(parseCell),
    },
  ];
}

function parseCell(text: string): readonly RoomCell[] {
  const numbers = text.split("*").map(numberOf);
  const [cpu = 0, memory = 0, pods = 0, nodes = 0] = numbers;
  return numbers.length === 4 ? [{ cpu, memory, pods, nodes }] : [];
}

/** Maximum of any number in a summary: above every real region, and far below values whose sum loses precision. */
const amountMax = 1e9;

function numberOf(text: string | undefined): number {
  const number = Number(text ?? "");
  return Number.isFinite(number) && number >= 0 ? Math.min(number, amountMax) : 0;
}
