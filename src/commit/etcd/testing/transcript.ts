/**
 * A transcript: a server's answers to a fixed sequence of calls, as text. Two servers behave alike
 * when their transcripts are equal. So a real etcd is the oracle, recorded once in a file.
 *
 * Left out: ids of cluster and member, terms, and elapsed times.
 */
import type { Input } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import { GrpcError } from "#wire/grpc.ts";
import { EtcdClient, type EtcdStream } from "../client.ts";
import type { EtcdRelease } from "./servers.ts";
import { answersSo, type DifferenceName } from "./versions.ts";

export class Transcript {
  readonly client: EtcdClient;
  readonly lines: string[] = [];
  readonly #streams: { close(): void }[] = [];

  readonly #release: EtcdRelease;

  /** `release`: that of the server, or the one that ours is compared with. */
  constructor(client: EtcdClient, release: EtcdRelease) {
    this.client = client;
    this.#release = release;
  }

  /** False if this release is known to answer differently; then the call is not made. */
  asks(name: DifferenceName): boolean {
    return answersSo(this.#release, name);
  }

  say(line: string): void {
    this.lines.push(line);
  }

  /** Records a request with its result: an answer, or an error's code and text. */
  async note<T>(what: string, answer: Promise<T>): Promise<T | undefined> {
    try {
      const value = await answer;
      this.say(`${what} -> ${show(value)}`);
      return value;
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      this.say(`${what} -> error ${error.code} ${error.message}`);
      return undefined;
    }
  }

  range(value: Input<m.RangeRequest>): Promise<m.RangeResponse | undefined> {
    return this.note(`range ${show(value)}`, this.client.range(value));
  }

  put(key: string, value: string, more: Input<m.PutRequest> = {}): Promise<unknown> {
    const request = { key, value: bytes(value), ...more };
    return this.note(`put ${show(request)}`, this.client.put(request));
  }

  deleteRange(value: Input<m.DeleteRangeRequest>): Promise<unknown> {
    return this.note(`delete ${show(value)}`, this.client.deleteRange(value));
  }

  txn(value: Input<m.TxnRequest>): Promise<unknown> {
    return this.note(`txn ${show(value)}`, this.client.txn(value));
  }

  compact(revision: number): Promise<unknown> {
    return this.note(`compact ${revision}`, this.client.compact(revision));
  }

  /** Records the joined chunks, because servers may split them differently. */
  async rangeStream(value: Input<m.RangeRequest>): Promise<void> {
    const path = "/etcdserverpb.KV/RangeStream";
    const stream = this.client.stream(path, m.rangeRequest, m.rangeStreamResponse);
    stream.send(value);
    stream.end();
    const chunks: m.RangeResponse[] = [];
    for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
      if (one.rangeResponse !== undefined) chunks.push(one.rangeResponse);
    }
    const joined = { ...chunks.at(-1), kvs: chunks.flatMap(({ kvs }) => kvs) };
    const { error } = stream;
    const ended = error === undefined ? show(joined) : `error ${error.code} ${error.message}`;
    this.say(`range stream ${show(value)} -> ${ended}`);
  }

  watch(): WatchTranscript {
    const watch = new WatchTranscript(this, this.client.watch());
    this.#streams.push(watch);
    return watch;
  }

  async revision(): Promise<number> {
    return (await this.client.range({ key: "\0", countOnly: true })).header?.revision ?? 0;
  }

  end(): void {
    for (const stream of this.#streams.splice(0)) stream.close();
  }
}

class WatchTranscript {
  readonly #transcript: Transcript;
  readonly #stream: EtcdStream<m.WatchRequest, m.WatchResponse>;
  #open: m.WatchResponse | undefined;

  constructor(transcript: Transcript, stream: EtcdStream<m.WatchRequest, m.WatchResponse>) {
    this.#transcript = transcript;
    this.#stream = stream;
  }

  send(value: Input<m.WatchRequest>): void {
    this.#transcript.say(`watch ${show(value)}`);
    this.#stream.send(value);
  }

  /** Sends a request and records the control answer that follows. */
  async ask(value: Input<m.WatchRequest>): Promise<void> {
    this.send(value);
    await this.control();
  }

  async control(): Promise<void> {
    const response = await this.#stream.next();
    this.#transcript.say(`watch <- ${show(response)}`);
  }

  /**
   * Records the next `count` events, regardless of how they are grouped into responses, which depends on timing.
   * Checks that a response splits no revision, and that headers cover their events.
   */
  async events(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const response = await this.#stream.next();
      if (response === undefined || response.events.length === 0) {
        this.#transcript.say(`watch <- ${show(response)} where an event was expected`);
        return;
      }
      this.#check(response);
      for (const event of response.events) {
        this.#transcript.say(`event of ${response.watchId} ${show(event)}`);
      }
      left -= response.events.length;
      if (left < 0) this.#transcript.say(`${-left} events too many`);
    }
  }

  close(): void {
    this.#stream.close();
  }

  get stream(): EtcdStream<m.WatchRequest, m.WatchResponse> {
    return this.#stream;
  }

  #check(response: m.WatchResponse): void {
    const { events, header, watchId } = response;
    const last = Math.max(...events.map(({ kv }) => kv?.modRevision ?? 0));
    const before = this.#open;
    this.#open = response;
    if ((header?.revision ?? 0) < last) this.#transcript.say("header below its events");
    const first = events[0]?.kv?.modRevision;
    const split =
      before?.watchId === watchId &&
      !before.fragment &&
      before.events.at(-1)?.kv?.modRevision === first;
    if (split) this.#transcript.say(`revision ${first} was split`);
  }
}

export function bytes(value: string): Uint8Array {
  return Buffer.from(value, "latin1");
}

/** Compact form without default values, ids and terms. */
function show(value: unknown): string {
  return JSON.stringify(plain(value)) ?? "nothing";
}

const hidden = new Set(["clusterId", "memberId", "raftTerm"]);
/** Longer values are shown by their length. */
const shownMax = 40;

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Uint8Array) return shorten(Buffer.from(value).toString("latin1"));
  if (typeof value === "string") return shorten(value);
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name, v]) => !hidden.has(name) && !isZero(v));
  return Object.fromEntries(entries.map(([name, v]) => [name, plain(v)]));
}

function shorten(text: string): string {
  return text.length > shownMax ? `${text.slice(0, 8)}...(${text.length})` : text;
}

function isZero(value: unknown): boolean {
  if (value === undefined || value === 0 || value === 0n || value === "" || value === false) {
    return true;
  }
  return (value instanceof Uint8Array || Array.isArray(value)) && value.length === 0;
}
