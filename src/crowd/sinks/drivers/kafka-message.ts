/**
 * A record as messages of Kafka: CloudEvents in the structured mode of their Kafka binding, other formats as
 * they are, what happened in headers.
 *
 * Holds  the key is the object's, so its events stay in one partition and in order. A mark goes into every
 *        partition, under a key that no object has: names of objects hold no slash at their beginning.
 */
import type { SinkRecord } from "../sink-driver.ts";

export interface KafkaMessage {
  readonly key: string;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Partition of the message. Undefined: chosen by the key, as Kafka's own clients do. */
  readonly partition?: number;
}

interface MessageOptions {
  readonly contentType: string;
  /** Whether a deletion with a value is followed by a message without one (a tombstone). */
  readonly tombstones: boolean;
}

/** Returns the messages of a record, none for a position. `partitions`: number of partitions of its topic. */
export function messagesOf(
  record: SinkRecord,
  { contentType, tombstones }: MessageOptions,
  partitions: number,
): KafkaMessage[] {
  const { type, key, value: bytes, source } = record;
  if (type === "POSITION") return [];
  const headers = headersOf(record, contentType);
  const value =
    bytes === undefined ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (key === "") {
    const mark = { key: `/${type}/${source}`, value, headers };
    return Array.from({ length: partitions }, (_, partition) => ({ ...mark, partition }));
  }
  const message = { key, value, headers };
  if (type !== "DELETED" || value === null || !tombstones) return [message];
  return [message, { key, value: null }];
}

function headersOf(record: SinkRecord, contentType: string): Record<string, string> {
  const { type, id, resourceVersion, source, value } = record;
  const headers: Record<string, string> = {
    "pilothouse-type": type,
    "pilothouse-id": id,
    "pilothouse-resource-version": resourceVersion,
    "pilothouse-source": source,
  };
  if (value !== undefined) headers["content-type"] = contentType;
  return headers;
}
