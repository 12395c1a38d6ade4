/** Protobuf bodies: many tiny fields, unknown fields, deep nesting, lengths that lie. */
import { type Attack, bodyBytesMax, protobuf } from "../attack.ts";

const core = "/api/v1/namespaces/default";

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

function field(number: number, bytes: Uint8Array | string): Buffer {
  const value = Buffer.from(bytes);
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

/** As many as fit, or `countMax`. */
function repeated(unit: (index: number) => Buffer, countMax = Number.POSITIVE_INFINITY): Buffer {
  const parts: Buffer[] = [];
  let left = bodyBytesMax - 1000;
  for (let at = 0; at < countMax; at++) {
    const part = unit(at);
    left -= part.length;
    if (left < 0) break;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function envelope(kind: string, raw: Buffer): Buffer {
  const type = Buffer.concat([field(1, "v1"), field(2, kind)]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw)]);
}

const metadata = (name: string, more: Buffer = Buffer.alloc(0)): Buffer =>
  field(1, Buffer.concat([field(1, name), more]));

const entry = (key: string, value: string): Buffer =>
  Buffer.concat([field(1, key), field(2, value)]);

function post(
  name: string,
  kind: string,
  raw: () => Buffer,
  expect = [201, 400, 413, 422, 500],
): Attack {
  const path = `${core}/${kind === "Pod" ? "pods" : "configmaps"}`;
  const body = (): Buffer => envelope(kind, raw());
  return { name, requests: [{ method: "POST", path, contentType: protobuf, body }], expect };
}

function nested(depth: number): Buffer {
  let inner: Uint8Array = Buffer.alloc(0);
  for (let at = 0; at < depth; at++) inner = field(2, inner);
  return Buffer.from(inner);
}

const dataOf = (count?: number): Buffer => repeated((at) => field(2, entry(`k${at}`, "")), count);

export const protobufAttacks: readonly Attack[] = [
  post("protobuf of unknown tiny fields", "ConfigMap", () =>
    repeated(() => Buffer.from([0x78, 0x00])),
  ),
  post("protobuf of unknown empty messages", "ConfigMap", () => repeated(() => field(15, ""))),
  post("protobuf of long varints", "ConfigMap", () =>
    repeated(() => Buffer.from([0x78, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])),
  ),
  post("protobuf of fixed numbers", "ConfigMap", () =>
    repeated(() => Buffer.from([0x79, 1, 2, 3, 4, 5, 6, 7, 8])),
  ),
  post("protobuf of metadata that comes again and again", "ConfigMap", () =>
    repeated(() => metadata("again")),
  ),
  post("protobuf of a map of many keys", "ConfigMap", () =>
    Buffer.concat([metadata("pb-keys"), dataOf()]),
  ),
  post("protobuf of a map of 8,000 keys", "ConfigMap", () =>
    Buffer.concat([metadata("pb-fits"), dataOf(8_000)]),
  ),
  post("protobuf of one key again and again", "ConfigMap", () =>
    Buffer.concat([metadata("pb-one"), repeated(() => field(2, entry("k", "")))]),
  ),
  post("protobuf of empty map entries", "ConfigMap", () =>
    Buffer.concat([metadata("pb-empty"), repeated(() => field(2, ""))]),
  ),
  post("protobuf of empty containers", "Pod", () =>
    Buffer.concat([
      metadata("pb-pod"),
      field(
        2,
        repeated(() => field(2, "")),
      ),
    ]),
  ),
  post("protobuf of empty finalizers", "ConfigMap", () =>
    metadata(
      "pb-finalizers",
      repeated(() => field(14, "")),
    ),
  ),
  post("protobuf of managed fields", "ConfigMap", () =>
    metadata(
      "pb-managed",
      repeated(() => field(17, "")),
    ),
  ),
  post("protobuf of managed fields whose JSON is nested", "ConfigMap", () =>
    metadata(
      "pb-deep",
      field(17, field(7, field(1, `${'{"f:a":'.repeat(9_000)}{}${"}".repeat(9_000)}`))),
    ),
  ),
  post("protobuf nested 10,000 deep", "ConfigMap", () => nested(10_000)),
  post(
    "protobuf with a length of four exabytes",
    "ConfigMap",
    () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    [400],
  ),
  post(
    "protobuf whose text is no UTF-8",
    "ConfigMap",
    () => metadata("x", field(4, Buffer.alloc(bodyBytesMax - 2000, 0xff))),
    [400, 413, 422],
  ),
];
