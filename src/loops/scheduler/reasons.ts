/** Why a node was refused, as small numbers: a cycle over thousands of nodes counts, it does not join texts. */

interface Reason {
  /** As upstream words it: `Insufficient cpu`. */
  readonly text: string;
  /** The plugin that refuses for it. */
  readonly plugin: string;
  /** Taking Pods away from the node could help. */
  readonly resolvable: boolean;
}

/** Taint keys and values come from outside: past the bound all further ones share the last reason. */
const reasonsMax = 4_096;

const reasons: Reason[] = [];
const ids = new Map<string, number>();

/** The same id for the same plugin, text and hope, for the life of the process. */
export function reasonId(plugin: string, text: string, resolvable: boolean): number {
  const key = `${plugin}|${resolvable}|${text}`;
  const known = ids.get(key);
  if (known !== undefined) return known;
  if (reasons.length >= reasonsMax) return reasons.length - 1;
  reasons.push({ text, plugin, resolvable });
  ids.set(key, reasons.length - 1);
  return reasons.length - 1;
}

export function reasonOf(id: number): Reason {
  const reason = reasons[id];
  if (reason === undefined) throw new RangeError(`no reason ${id}`);
  return reason;
}
