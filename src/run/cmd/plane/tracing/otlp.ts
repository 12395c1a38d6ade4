/**
 * Spans as OTLP's ExportTraceServiceRequest (opentelemetry-proto 1.x, trace.proto), written front to back: sizes are known
 * from the parts, and a batch is made once in some seconds.
 */
import type { AttributeValue, Span } from "#server/trace.ts";
import type { RemoteSpan } from "#server/traceparent.ts";

type Bytes = Uint8Array;

/** Kinds and status codes of trace.proto. */
const kindInternal = 1;
const kindServer = 2;
const statusError = 2;
const isRemoteFlags = 0x300;
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

interface Source {
  readonly instanceId: string;
  readonly version: string;
}

export function exportRequest(spans: readonly Span[], { instanceId, version }: Source): Buffer {
  const resource = nested(1, [
    attribute(1, "service.name", "apiserver"),
    attribute(1, "service.instance.id", instanceId),
  ]);
  const scope = nested(1, [text(1, "pilothouse"), text(2, version)]);
  const scopeSpans = nested(2, [scope, ...spans.map((span) => nested(2, spanParts(span)))]);
  return nested(1, [resource, scopeSpans]);
}

function spanParts(span: Span): readonly Buffer[] {
  const { parentId, traceState, link, error } = span;
  return [
    bytes(1, span.traceId),
    bytes(2, span.spanId),
    ...(traceState === "" ? [] : [text(3, traceState)]),
    ...(parentId === undefined ? [] : [bytes(4, parentId)]),
    text(5, span.name),
    varint(6, span.isServer ? kindServer : kindInternal),
    nanoseconds(7, span.startMs),
    nanoseconds(8, Math.max(span.startMs, span.endMs)),
    ...span.attributes.map(([key, value]) => attribute(9, key, value)),
    ...(link === undefined ? [] : [nested(13, linkParts(link))]),
    ...(error === undefined ? [] : [nested(15, [text(2, error), varint(3, statusError)])]),
  ];
}

function linkParts({ traceId, spanId }: RemoteSpan): readonly Buffer[] {
  return [bytes(1, traceId), bytes(2, spanId), fixed32(6, isRemoteFlags)];
}

function attribute(number: number, key: string, value: AttributeValue): Buffer {
  return nested(number, [text(1, key), nested(2, [anyValue(value)])]);
}

function anyValue(value: AttributeValue): Buffer {
  if (typeof value === "string") return text(1, value);
  return typeof value === "boolean" ? varint(2, value ? 1 : 0) : varint(3, value);
}

function nested(number: number, parts: readonly Bytes[]): Buffer {
  return bytes(number, Buffer.concat(parts));
}

/** A lone surrogate is replaced, because a protobuf string must be valid UTF-8. */
function text(number: number, value: string): Buffer {
  return bytes(number, Buffer.from(value.toWellFormed()));
}

function bytes(number: number, value: Bytes): Buffer {
  return Buffer.concat([tag(number, wire.bytes), base128(value.length), value]);
}

function varint(number: number, value: number): Buffer {
  return Buffer.concat([tag(number, wire.varint), base128(value)]);
}

function nanoseconds(number: number, ms: number): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(BigInt(Math.round(ms * 1_000)) * 1_000n);
  return Buffer.concat([tag(number, wire.fixed64), value]);
}

function fixed32(number: number, value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return Buffer.concat([tag(number, wire.fixed32), out]);
}

function tag(number: number, type: number): Buffer {
  return base128(number * 8 + type);
}

/** Encodes a varint: seven bits per byte, lowest first. The value is an integer from 0 to 2^53. */
function base128(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
  out.push(rest);
  return Buffer.from(out);
}
