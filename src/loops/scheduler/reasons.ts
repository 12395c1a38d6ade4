/** Refusal reasons as small numbers, so that a cycle over thousands of nodes counts instead of joining texts. */

interface Reason {
  /** Upstream's wording, such as `Insufficient cpu`. */
  readonly text: string;
  /** Name of the refusing plugin. */
  readonly plugin: string;
  /** Whether preemption on the node could help. */
  readonly resolvable: boolean;
}

/** Maximum number of reasons, because taint keys and values are user input; any further ones share the last reason. */
const reasonsMax = 4_096;

const reasons: Reason[] = [];
const ids = new Map<string, number>();

/** Returns the same id for equal arguments, for the life of the process. */
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
