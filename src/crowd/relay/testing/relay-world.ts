/** For tests: a relay before a fake upstream, with plain requests to its handler. */
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { given } from "#base/given.ts";
import { failure } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { ByteRequest, ByteTransport } from "#platform/byte-transport.ts";
import type { PlainRequest, PlainResponse, UserInfo } from "#platform/http.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeHttpServer, wholeAnswer } from "#platform/testing/http-server.ts";
import { relayLimits } from "../limits.ts";
import { createRelay, type Relay } from "../relay.ts";
import { parseViewFile } from "../views/view-definition.ts";
import { FakeUpstream, podKind } from "./fake-upstream.ts";
import { relayDeps, Watching } from "./relay-fixture.ts";

export const ann: UserInfo = { name: "ann", groups: ["team", "system:authenticated"] };

interface Review {
  readonly user: string;
  readonly resourceAttributes?: Readonly<Record<string, unknown>>;
}

const viewFile = `
views:
  - name: table
    resource: pods
    text: '{.metadata.labels.v} {.metadata.name} on {.spec.nodeName};'
    zone: {path: .spec.nodeName, minimum: 2}
  - name: fields
    resource: pods
    namespaces: [ns0, ns9]
    labelSelector: v!=2
    fields: {node: .spec.nodeName, none: .x, all: [".metadata.labels.*"]}
`;

export class World {
  readonly clock = new FakeClock();
  readonly fake: FakeUpstream;
  readonly relay: Relay;
  readonly passed: ByteRequest[] = [];
  readonly reviews: Review[] = [];
  readonly revoked = new Set<string>();
  reviewsAway = false;

  constructor(
    limits: Partial<typeof relayLimits> = {},
    fake = new FakeUpstream(),
    peerStreams?: () => Promise<readonly number[]>,
  ) {
    this.fake = fake;
    this.relay = createRelay(
      {
        ...relayDeps(this.clock, this.fake),
        passHttp: this.#passHttp(),
        client: {
          create: (_: unknown, __: string, o: unknown) => this.#review(o),
        } as unknown as Client,
        headers: () => ({ authorization: "Bearer relay" }),
        ...given({ peerStreams }),
      },
      {
        resources: [podKind],
        views: parseViewFile(viewFile).map((definition) => ({ definition, kind: podKind })),
        consistency: "verify",
        limits: { ...relayLimits, flushMs: 0, ...limits },
      },
    );
  }

  async get(target: string, headers: Record<string, string> = {}, user = ann): Promise<Answer> {
    const answer = this.relay.handler(plain("GET", target, headers, user));
    await this.clock.advance(500);
    return bodyOf(await answer);
  }

  async watch(target: string): Promise<Watching> {
    const answer = this.relay.handler(plain("GET", target, {}, ann));
    await this.clock.advance(0);
    const response = await answer;
    assert.equal(response.kind, "stream");
    const watching = new Watching();
    if (response.kind === "stream") watching.close = response.open(watching);
    return watching;
  }

  /** Delivers the upstream's events to the relay. */
  async flow(): Promise<void> {
    await this.clock.advance(1);
    this.fake.enqueue();
    this.fake.deliver(1000);
    await this.clock.advance(1);
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    await this.clock.advance(100_000);
    await stopped;
  }

  #review(object: unknown): Promise<unknown> {
    if (this.reviewsAway) return Promise.reject(failure(503, "ServiceUnavailable", "away"));
    const { spec } = object as { spec: Review & { token?: string } };
    if (spec.token !== undefined) {
      const user = { username: `user-of-${spec.token}`, groups: ["g"] };
      return Promise.resolve({ status: { authenticated: spec.token !== "bad", user } });
    }
    this.reviews.push(spec);
    return Promise.resolve({ status: { allowed: !this.revoked.has(spec.user) } });
  }

  #passHttp(): ByteTransport {
    return new FakeHttpServer((request) => {
      this.passed.push(request);
      const body = Buffer.from(`upstream answers ${request.method} ${request.target}`);
      const headers = { "content-type": "text/plain", connection: "close" };
      return {
        ...wholeAnswer(200, body, headers),
        stream: async (take) => {
          for (const byte of body) await take(Buffer.of(byte));
        },
      };
    });
  }
}

export interface Json {
  readonly metadata?: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly code?: number;
  readonly message?: string;
  readonly items?: readonly Json[];
  readonly deleted?: readonly { readonly name: string }[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly json: Json;
  readonly body: readonly Uint8Array[];
}

export function plain(
  method: string,
  target: string,
  headers: Record<string, string>,
  user: UserInfo,
): PlainRequest {
  const [path = "", query = ""] = target.split("?");
  const direct = user.name !== "";
  return {
    method,
    path,
    query,
    headers,
    body: { kind: "none" },
    peer: direct ? { kind: "direct", user } : { kind: "socket", address: "127.0.0.1" },
    signal: new AbortController().signal,
  };
}

export const nobody: UserInfo = { name: "", groups: [] };

export async function bodyOf(response: PlainResponse): Promise<Answer> {
  let bytes: Uint8Array = new Uint8Array(0);
  let body: readonly Uint8Array[] = [];
  if (response.kind === "bytes") {
    body = response.body;
    bytes = Buffer.concat(body);
  } else if (response.kind === "stream") {
    const sink = new Watching();
    response.open(sink);
    for (let turn = 0; turn < 200 && !sink.ended; turn++) await Promise.resolve();
    bytes = Buffer.from(sink.text);
  }
  if (response.kind === "object") bytes = Buffer.from(JSON.stringify(response.object));
  const { status, headers } = response;
  const plainBytes = headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
  const text = Buffer.from(plainBytes).toString();
  const json = (text.startsWith("{") ? JSON.parse(text) : {}) as Json;
  return { status, headers, text, json, body };
}

export async function filled(
  count: number,
  limits: Partial<typeof relayLimits> = {},
): Promise<World> {
  const fake = new FakeUpstream();
  for (let at = 0; at < count; at++) fake.write([`ns${at % 2}/p${at}`, String(at % 3)]);
  const world = new World(limits, fake);
  await world.clock.advance(1);
  return world;
}

export const names = (answer: Answer): (string | undefined)[] =>
  (answer.json.items ?? []).map((item) => item.metadata?.name);
