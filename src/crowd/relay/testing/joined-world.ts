/** For tests: a relay with joined views before a fake cluster, with requests to its handler. */
import assert from "node:assert/strict";
import type { Client } from "#client/client.ts";
import type { UserInfo } from "#platform/http.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { type RelayLimits, relayLimits } from "../limits.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import { createRelay } from "../relay.ts";
import { parseViewFile, resourcesOfView } from "../views/view-definition.ts";
import { ClusterTransport, FakeCluster } from "./fake-cluster.ts";
import { relayDeps, Watching } from "./relay-fixture.ts";
import { ann, bodyOf, plain } from "./relay-world.ts";
import { routedKinds } from "./routed-objects.ts";

interface AskedRight {
  readonly verb?: string;
  readonly namespace?: string;
  readonly resource?: string;
}

interface Asked {
  readonly spec: { readonly resourceAttributes?: AskedRight };
}

interface WorldOptions {
  /** Text of the operator's view file. */
  readonly views?: string;
  /** Mirrored kinds in addition to `routedKinds`. */
  readonly kinds?: readonly MirroredKind[];
  readonly isRefused?: (right: AskedRight) => boolean;
  readonly limits?: Partial<RelayLimits>;
}

export class JoinedWorld {
  readonly cluster = new FakeCluster();
  /** Rights that the relay has asked the upstream about so far. */
  readonly asked: AskedRight[] = [];
  readonly clock = new FakeClock();
  isRefused: (right: AskedRight) => boolean;
  readonly #transport = new ClusterTransport(this.cluster);
  readonly #metrics = new MetricSet();
  readonly #relay: ReturnType<typeof createRelay>;

  constructor(options: WorldOptions = {}) {
    const { views = "views: [{name: routes, shipped: skipper-routes}]", kinds = [] } = options;
    this.isRefused = options.isRefused ?? (() => false);
    const resources = [...routedKinds, ...kinds];
    const client = { create: (_: unknown, __: string, one: Asked) => this.#review(one) };
    const deps = { ...relayDeps(this.clock, this.#transport), metrics: this.#metrics };
    this.#relay = createRelay(
      { ...deps, client: client as unknown as Client },
      {
        resources,
        views: parseViewFile(views).map((definition) => {
          const named = resourcesOfView(definition).resources;
          const [kind, ...joined] = named.map((name) => kindNamed(resources, name));
          assert(kind !== undefined);
          return { definition, kind, joined };
        }),
        consistency: "cache",
        limits: { ...relayLimits, flushMs: 0, ...options.limits },
      },
    );
  }

  /** Delivers the cluster's changes to the relay. */
  async flow(): Promise<void> {
    await this.clock.advance(1);
    this.#transport.deliver();
    await this.clock.advance(1);
  }

  async get(
    target: string,
    headers: Record<string, string> = {},
    user = ann,
  ): ReturnType<typeof bodyOf> {
    return this.send("GET", target, headers, user);
  }

  async send(
    method: string,
    target: string,
    headers: Record<string, string>,
    user: UserInfo,
  ): ReturnType<typeof bodyOf> {
    await this.flow();
    const answer = this.#relay.handler(plain(method, target, headers, user));
    await this.clock.advance(500);
    return bodyOf(await answer);
  }

  async events(target: string): Promise<Watching> {
    await this.flow();
    const headers = { accept: "text/event-stream" };
    const answer = this.#relay.handler(plain("GET", target, headers, ann));
    await this.clock.advance(500);
    const response = await answer;
    assert(response.kind === "stream");
    const watching = new Watching();
    watching.close = response.open(watching);
    return watching;
  }

  /** Returns the value of the relay's first metric with this name. */
  metric(name: string): number {
    const line = this.#metrics
      .text()
      .split("\n")
      .find((one) => one.startsWith(name));
    return Number(line?.split(" ").at(-1));
  }

  async stop(): Promise<void> {
    const stopped = this.#relay.stop();
    this.#transport.cut();
    await this.clock.advance(100_000);
    await stopped;
  }

  #review({ spec }: Asked): Promise<unknown> {
    const right = spec.resourceAttributes ?? {};
    this.asked.push(right);
    return Promise.resolve({ status: { allowed: !this.isRefused(right) } });
  }
}

function kindNamed(kinds: readonly MirroredKind[], name: string): MirroredKind {
  const found = kinds.find((kind) => {
    const { apiVersion, resource } = kind;
    return name === resource || name === `${apiVersion}/${resource}`;
  });
  assert(found !== undefined, name);
  return found;
}
