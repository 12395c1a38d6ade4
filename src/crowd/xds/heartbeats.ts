/**
 * Heartbeats of one type: of each resource that the client was sent, its name and version. They are sent when there is
 * nothing new to send, piece by piece, and given up when there is: what is new is sent first.
 */
import { contentFor } from "./resource.ts";
import { notSent, type Subscription, toldAbsent } from "./subscription.ts";

/** Yields the field of each heartbeat; none for a client without support of times to live. */
export function* heartbeatsOf(of: Subscription, zone: string): Generator<Uint8Array, undefined> {
  const { heartbeat } = of.form;
  if (heartbeat === undefined) return undefined;
  for (const [name, version] of of.names) {
    if (version !== notSent && version !== toldAbsent) yield heartbeat(name, version);
  }
  if (!of.followsAll) return undefined;
  for (const resource of of.table.listed()) {
    const { name } = resource;
    if (!of.names.has(name)) yield heartbeat(name, contentFor(resource, zone).version);
  }
  return undefined;
}

/** Takes heartbeats up to a number of bytes. Empty: there are no more. */
export function takeHeartbeats(
  beats: Iterator<Uint8Array, undefined>,
  bytesMax: number,
): readonly Uint8Array[] {
  const fields: Uint8Array[] = [];
  for (let bytes = 0; bytes < bytesMax;) {
    const next = beats.next();
    if (next.done === true) break;
    fields.push(next.value);
    bytes += next.value.length;
  }
  return fields;
}
