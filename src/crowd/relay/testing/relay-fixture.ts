/** For tests: dependencies of a relay before a fake upstream, a plain request, and the client of a watch. */
import type { Client } from "#client/client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { ByteSink, PlainRequest } from "#platform/http.ts";
import { FakeHttpServer, wholeAnswer } from "#platform/testing/http-server.ts";
import { silentLog } from "#platform/log.ts";
import type { FakeClock } from "#platform/testing/clock.ts";
import { roomyLedger } from "#platform/testing/roomy-ledger.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import type { createRelay } from "../relay.ts";

/** Client that allows every user everything. */
const allowing = {
  create: () => Promise.resolve({ status: { allowed: true } }),
} as unknown as Client;

/** Upstream that accepts requests without credentials: it answers 403, not 401. */
const takesAnonymous: ByteTransport = new FakeHttpServer(() => wholeAnswer(403));

export function relayDeps(
  clock: FakeClock,
  upstream: ByteTransport,
): Parameters<typeof createRelay>[0] {
  return {
    clock,
    random: new FakeRandom(3),
    log: silentLog,
    ledger: roomyLedger(),
    metrics: new MetricSet(),
    http: upstream,
    passHttp: upstream,
    anonymousHttp: takesAnonymous,
    client: allowing,
    headers: () => ({}),
    peers: { authenticate: () => Promise.resolve({ kind: "none" }) },
  };
}

export function plainGet(
  target: string,
  headers: Readonly<Record<string, string>> = { accept: "application/json" },
): PlainRequest {
  const [path = "", query = ""] = target.split("?");
  return {
    method: "GET",
    path,
    query,
    headers,
    body: { kind: "none" },
    peer: { kind: "direct", user: { name: "ann", groups: [] } },
    signal: new AbortController().signal,
  };
}

interface Told {
  readonly type: string;
  readonly object: {
    readonly [field: string]: unknown;
    readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  };
}

export class Watching implements ByteSink {
  text = "";
  ended = false;
  /** Whether the relay asked the client of this stream to reconnect elsewhere. */
  left = false;
  readonly closed = false;
  /** Called when the client disconnects. */
  close = (): void => {};

  get events(): readonly Told[] {
    const lines = this.text.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Told);
  }

  /** The events as `TYPE name@resourceVersion`; an error with its code. */
  get lines(): readonly string[] {
    return this.events.map(({ type, object }) => {
      const { name = "", resourceVersion } = object.metadata ?? {};
      return `${type} ${name}@${resourceVersion ?? String(object["code"])}`;
    });
  }

  write(chunks: readonly Uint8Array[]): boolean {
    for (const chunk of chunks) this.text += Buffer.from(chunk).toString();
    return true;
  }

  onDrain(): void {}

  leave(): void {
    this.left = true;
  }

  end(): void {
    this.ended = true;
  }
}
