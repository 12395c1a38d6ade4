/**
 * Watchers and the writer they listen to, a process of its own: `node watch-load.ts '<options as
 * JSON>'` prints one WatchSample as a line of JSON.
 *
 * Every watcher has a stream of its own. Each value carries when its put was due and its number, so
 * lag counts from there; revisions must rise, and no event come twice to a watcher, or not at all.
 */
import * as m from "../../../src/core/wire/etcd-messages.ts";
import { Deframer, framed, prefixBytes } from "../../../src/core/wire/grpc.ts";
import { fail, H2Client } from "./h2-client.ts";
import { Histogram, sleep, Window, type Sample } from "./sample.ts";

export interface WatchOptions {
  readonly port: number;
  readonly serverPid: number;
  readonly watchers: number;
  readonly connections: number;
  readonly eventsPerSecond: number;
  readonly warmSeconds: number;
  readonly seconds: number;
  readonly valueBytes: number;
}

/** `perSecond` is deliveries, `cpuUsPerCall` for one of them, latencies are lags. */
export interface WatchSample extends Sample {
  /** Deliveries due that did not come within `lateSecondsMax` of the end. */
  readonly missing: number;
  /** Events due that the server had not committed by then. */
  readonly unwritten: number;
}

const prefix = "bench/watch/";
const rangeEnd = "bench/watch0";
const keys = 1000;
const lateSecondsMax = 10;
/** Of a WatchResponse: field 11, a message. */
const eventsTag = 0x5a;

const options = JSON.parse(process.argv[2] ?? "{}") as WatchOptions;
const eventsMax = Math.ceil((options.warmSeconds + options.seconds + 1) * options.eventsPerSecond);
const lags = new Histogram();
let ready = 0;
let written = 0;
let received = 0;

class Watcher {
  readonly #deframer = new Deframer(2 ** 30);
  #created = false;
  readonly #seen = new Uint8Array(eventsMax);
  #revision = 0;

  data = (payload: Buffer): void => {
    const whole =
      !this.#deframer.hasPartialMessage &&
      payload.length >= prefixBytes &&
      payload.readUInt32BE(1) === payload.length - prefixBytes;
    if (whole) this.#response(payload, prefixBytes);
    else this.#deframer.push(payload, this.#message);
  };

  ended = (): void => fail(new Error("a watch ended"));

  #message = (message: Buffer): void => this.#response(message, 0);

  #response(bytes: Buffer, from: number): void {
    if (!this.#created) {
      this.#created = true;
      ready++;
      return;
    }
    const nowMs = performance.now();
    const reader = { bytes, at: from };
    while (reader.at < bytes.length) {
      const tag = varint(reader);
      if ((tag & 7) === 0) varint(reader);
      else {
        const length = varint(reader);
        if (tag === eventsTag) this.#event(bytes, reader.at, reader.at + length, nowMs);
        reader.at += length;
      }
    }
  }

  /** From the value of type put, the kv, then key, create and mod revision; the value is last. */
  #event(bytes: Buffer, from: number, end: number, nowMs: number): void {
    const reader = { bytes, at: from + 1 };
    varint(reader);
    reader.at++;
    const keyBytes = varint(reader);
    reader.at += keyBytes + 1;
    varint(reader);
    reader.at++;
    const revision = varint(reader);
    const at = end - options.valueBytes;
    const number = bytes.readUInt32LE(at + 8);
    if (revision <= this.#revision) fail(new Error(`${revision} after ${this.#revision}`));
    if (this.#seen[number] !== 0) fail(new Error(`event ${number} came twice`));
    this.#revision = revision;
    this.#seen[number] = 1;
    received++;
    lags.add(nowMs - bytes.readDoubleLE(at));
  }
}

function varint(reader: { readonly bytes: Buffer; at: number }): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = reader.bytes[reader.at++] as number;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
  }
}

const created = framed(m.watchRequest.encode({ create: { key: prefix, rangeEnd } }, prefixBytes));
const watching = Array.from(
  { length: options.connections },
  () => new H2Client(options.port, "/etcdserverpb.Watch/Watch"),
);
for (let i = 0; i < options.watchers; i++) {
  (watching[i % watching.length] as H2Client).open(created, new Watcher());
}
while (ready < options.watchers) await sleep(10);

const writer = new H2Client(options.port, "/etcdserverpb.KV/Put");
const writes = {
  data: (): void => {
    written++;
  },
  ended: (): void => undefined,
};

function put(number: number, dueMs: number): void {
  const value = Buffer.alloc(options.valueBytes);
  value.writeDoubleLE(dueMs, 0);
  value.writeUInt32LE(number, 8);
  const key = `${prefix}${String(number % keys).padStart(6, "0")}`;
  writer.call(framed(m.putRequest.encode({ key, value }, prefixBytes)), writes);
}

/** @returns the number after the last. */
async function write(startMs: number, from: number, seconds: number): Promise<number> {
  let due = from;
  for (let over = false; !over;) {
    const elapsed = (performance.now() - startMs) / 1000;
    over = elapsed >= seconds;
    const until = Math.min(elapsed, seconds) * options.eventsPerSecond;
    for (; due < until; due++) put(due, startMs + (due * 1000) / options.eventsPerSecond);
    if (!over) await sleep(1);
  }
  return due;
}

const startMs = performance.now();
const warm = await write(startMs, 0, options.warmSeconds);
// What the warm-up still owes is counted in the window: no moment is left out.
lags.clear();
const window = new Window(options.serverPid);
const due = await write(startMs, warm, options.warmSeconds + options.seconds);
const sample = window.end(lags);
const wanted = due * options.watchers;
for (let i = 0; received < wanted && i < lateSecondsMax * 100; i++) await sleep(10);
const late = { p50Ms: lags.quantile(0.5), p99Ms: lags.quantile(0.99), maxMs: lags.quantile(1) };
const result: WatchSample = {
  ...sample,
  ...late,
  missing: wanted - received,
  unwritten: due - written,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);
