/**
 * Encodes events to bytes, once for all watches that receive them.
 *
 * Bounds  it keeps the events of one batch of the store; its owner drops it afterwards.
 */
import type { KeyValue, StoreEvent } from "#store/store.ts";
import { event as eventMessage, EventType } from "#wire/etcd-messages.ts";

export class EventEncoder {
  readonly #plain = new Map<StoreEvent, Buffer>();
  readonly #withPrevious = new Map<StoreEvent, Buffer>();

  /**
   * `shared`: other watches may need the same event, so its bytes are kept. `previous`, if present, is
   * encoded too, and is the same on every call for one event.
   */
  encode(
    event: StoreEvent,
    revision: number,
    previous: KeyValue | undefined,
    shared: boolean,
  ): Buffer {
    if (!shared) return encodeEvent(event, revision, previous);
    const cache = previous === undefined ? this.#plain : this.#withPrevious;
    const known = cache.get(event);
    if (known !== undefined) return known;
    const made = encodeEvent(event, revision, previous);
    cache.set(event, made);
    return made;
  }

  forget(): void {
    if (this.#plain.size > 0) this.#plain.clear();
    if (this.#withPrevious.size > 0) this.#withPrevious.clear();
  }
}

function encodeEvent(event: StoreEvent, revision: number, prevKv: KeyValue | undefined): Buffer {
  return event.kind === "put"
    ? eventMessage.encode({ type: EventType.put, kv: event.kv, prevKv })
    : eventMessage.encode({
        type: EventType.delete,
        kv: { key: event.key, modRevision: revision },
        prevKv,
      });
}
