/**
 * What a sink remembers in Kafka: a compacted topic of one partition, written in the transactions that write
 * the events, so both are there or neither is.
 *
 *   session                opened anew by: what is behind it belongs to a later session
 *   position/SOURCE        how far the source is written
 *   object/SOURCE/KEY      uid/resourceVersion of what was written last; null once it is deleted
 */
import type { KnownObject, SinkRecord } from "../sink-driver.ts";

export interface StateMessage {
  readonly key: string;
  readonly value: string | null;
}

export const sessionKey = "session";
const positionPrefix = "position/";

/** Returns the newest state message per key of these records: a transaction commits as a whole. */
export function stateMessages(records: Iterable<SinkRecord>): StateMessage[] {
  const newest = new Map<string, string | null>();
  for (const { type, source, position, key, uid, resourceVersion } of records) {
    newest.set(positionPrefix + encodeURIComponent(source), position);
    if (key === "") continue;
    const known = type === "DELETED" ? null : `${uid}/${resourceVersion}`;
    newest.set(objectPrefix(source) + key, known);
  }
  return [...newest].map(([key, value]) => ({ key, value }));
}

export function takePosition(positions: Map<string, string>, { key, value }: StateMessage): void {
  if (value === null || !key.startsWith(positionPrefix)) return;
  positions.set(decodeURIComponent(key.slice(positionPrefix.length)), value);
}

export function takeKnown(
  known: Map<string, KnownObject>,
  source: string,
  { key, value }: StateMessage,
): void {
  const prefix = objectPrefix(source);
  if (!key.startsWith(prefix)) return;
  const object = key.slice(prefix.length);
  if (value === null) return void known.delete(object);
  const slash = value.lastIndexOf("/");
  const [uid, resourceVersion] = [value.slice(0, slash), value.slice(slash + 1)];
  known.set(object, { uid, resourceVersion });
}

function objectPrefix(source: string): string {
  return `object/${encodeURIComponent(source)}/`;
}
