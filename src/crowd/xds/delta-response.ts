/**
 * What a delta response holds: what the client does not have, up to a number of bytes; the rest is sent
 * once the client has acknowledged.
 */
import { notSent, type Subscription, toldAbsent } from "./subscription.ts";

export interface DeltaParts {
  readonly fields: readonly Uint8Array[];
  readonly removed: readonly string[];
}

/**
 * Additions, and names that were asked for and do not exist. Undefined: there is nothing to say. Who asked for
 * everything is answered even if that is nothing: Envoy is not ready before, or only after its timeout of 15 s.
 */
export function takeAdditions(of: Subscription, bytesMax: number): DeltaParts | undefined {
  const fields: Uint8Array[] = [];
  const removed: string[] = [];
  let bytes = 0;
  const add = (field: Uint8Array): void => {
    fields.push(field);
    bytes += field.length;
  };
  while (bytes < bytesMax) {
    const content = of.nextInitial();
    if (content === undefined) break;
    add(of.form.field(content));
  }
  for (const name of of.additions) {
    if (bytes >= bytesMax) break;
    of.additions.delete(name);
    const content = of.contentOf(name);
    const held = of.names.get(name);
    if (content !== undefined) {
      if (content.version !== held) add(of.form.field(content));
    } else if (held === undefined || held === notSent) {
      removed.push(name);
      bytes += name.length;
    } else {
      if (held !== toldAbsent) of.removals.add(name);
      continue;
    }
    of.sent(name, content);
  }
  const { isAsked } = of;
  of.isAsked = false;
  return partsOf(fields, removed) ?? (isAsked ? { fields, removed } : undefined);
}

export function takeRemovals(of: Subscription, bytesMax: number): DeltaParts | undefined {
  const removed: string[] = [];
  let bytes = 0;
  for (const name of of.removals) {
    if (bytes >= bytesMax) break;
    of.removals.delete(name);
    of.sent(name, undefined);
    removed.push(name);
    bytes += name.length;
  }
  return partsOf([], removed);
}

function partsOf(
  fields: readonly Uint8Array[],
  removed: readonly string[],
): DeltaParts | undefined {
  return fields.length + removed.length === 0 ? undefined : { fields, removed };
}
