/**
 * A small environment for tests of controllers: the API in memory, a clock that stands still, informers over both, and
 * events as text. Controllers run as in production, through queues and caches.
 */
import type { Container, Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import type { ResourceRef } from "#client/client.ts";
import {
  createController,
  type AnyControllerOptions,
  type Controller,
} from "#client/create-controller.ts";
import type { EventRecorder } from "#client/events.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { createFakeApi, type FakeApi, type FakeCall } from "#client/testing/fake-api.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";

/** Creates a controller's options, or anything that can be run. */
type Maker = (deps: ControllerDeps) => AnyControllerOptions | Pick<Controller, "run">;

export interface World {
  readonly api: FakeApi;
  readonly clock: FakeClock;
  /** Recorded events in order, such as `Normal SuccessfulCreate Created pod: a`. */
  readonly events: string[];
  /** Starts controllers over one set of informers, and waits until they are idle. */
  start(...makers: readonly Maker[]): Promise<void>;
  /** Waits until nothing happens unless time passes. */
  rest(): Promise<void>;
  advance(ms: number): Promise<void>;
  stop(): Promise<void>;
  /** Writing requests since the last `forgetCalls`, such as `create pods default/a`. */
  writes(): readonly string[];
  forgetCalls(): void;
  /** Sets the status of a stored pod as its kubelet would. */
  setPod(name: string, status: Pod["status"], nodeName?: string): void;
  now(): string;
}

const reads: ReadonlySet<FakeCall["verb"]> = new Set(["get", "list", "watch"]);

/** `documents`: discovery answers by path; an Error is thrown. */
export function createWorld(documents: Readonly<Record<string, unknown>> = {}): World {
  const clock = new FakeClock();
  const memory = createFakeApi({ clock });
  const api = Object.assign(memory, { raw: (path: string) => answer(documents, path) });
  const events: string[] = [];
  const recorder: EventRecorder = {
    event: (_object, type, reason, message) => void events.push(`${type} ${reason} ${message}`),
    flushed: () => Promise.resolve(),
    close: () => Promise.resolve(),
    dropped: 0,
  };
  let stopping = new AbortController();
  let running: Promise<void>[] = [];
  const world: World = {
    api,
    clock,
    events,
    async start(...makers) {
      stopping = new AbortController();
      const base = { client: api, clock, log: silentLog, random: new FakeRandom(1) };
      const informers = createInformerSet(base);
      const deps: ControllerDeps = { ...base, clientFor: () => api, informers, recorder };
      const controllers = makers.map((make) => {
        const made = make(deps);
        return "run" in made ? made : createController(deps, made);
      });
      const { signal } = stopping;
      running = [informers.run(signal), ...controllers.map((one) => one.run(signal))];
      await world.rest();
    },
    async rest() {
      for (let calls = -1; calls !== api.calls.length;) {
        calls = api.calls.length;
        await clock.advance(0);
        await settle();
      }
    },
    async advance(ms) {
      await clock.advance(ms);
      await world.rest();
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
    writes: () => api.calls.filter((call) => !reads.has(call.verb)).map(printCall),
    forgetCalls() {
      api.calls.length = 0;
    },
    setPod(name, status, nodeName) {
      const pod = api.peekAll<Pod>(refs.pods).find((other) => other.metadata?.name === name);
      if (pod === undefined) throw new Error(`no pod ${name}`);
      const spec = { ...(pod.spec ?? { containers: [] }), ...(nodeName ? { nodeName } : {}) };
      api.put(refs.pods, { ...pod, spec, status: { ...pod.status, ...status } });
    },
    now: () => formatTime(clock.nowMs()),
  };
  return world;
}

async function answer(documents: Readonly<Record<string, unknown>>, path: string) {
  const document = documents[path];
  if (document instanceof Error) throw document;
  if (document === undefined) throw new Error(`no document at ${path}`);
  return document;
}

function printCall(call: FakeCall): string {
  const given = (call.body as KubeObject | undefined)?.metadata ?? {};
  const name = call.name === "" ? `${given.generateName ?? ""}*` : call.name;
  const path = call.namespace === "" ? name : `${call.namespace}/${name}`;
  const resource = call.subresource === "" ? call.resource : `${call.resource}/${call.subresource}`;
  return `${call.verb} ${resource} ${path}`;
}

/** Objects of `ref` by name, sorted. */
export function names(api: FakeApi, ref: ResourceRef): readonly string[] {
  return api
    .peekAll(ref)
    .map((object) => object.metadata?.name ?? "")
    .toSorted();
}

export function readyStatus(since: string): NonNullable<Pod["status"]> {
  const ready = { type: "Ready", status: "True", lastTransitionTime: since };
  return { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], conditions: [ready] };
}

/** A stored pod; `fields` override the defaults. */
export function pod(name: string, fields: Partial<Pod> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    spec: { containers: [container] },
    status: { phase: "Running" },
    ...fields,
    metadata: { name, namespace: "default", uid: `uid-${name}`, ...fields.metadata },
  };
}

export const container: Container = { name: "main", image: "image" };

export const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [container] },
};

export const selector = { matchLabels: { app: "web" } };
