/**
 * docs/reading.md is true: a pod is created in a running plane with breakpoints at the functions that the
 * page names, and they are called in the page's order. A breakpoint's condition notes the call and is
 * false, so nothing ever pauses.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, constants } from "node:http2";
import { type Debugger, Session } from "node:inspector";
import { test } from "node:test";
import { parse } from "yaml";
import type { Pod } from "#api/gen/types.ts";
import { startControlPlane } from "#cmd/embed.ts";

const podWay: readonly (readonly [file: string, name: string])[] = [
  ["platform/node/http/http2.ts", "plainRequest"],
  ["server/chain.ts", "runChain"],
  ["server/chain.ts", "runChainIdentity"],
  ["server/chain.ts", "runChainAuthorize"],
  ["server/place.ts", "targetOf"],
  ["server/place.ts", "of"],
  ["apiserver/route.ts", "serveResource"],
  ["apiserver/route.ts", "servePersisted"],
  ["apiserver/create.ts", "handleCreate"],
  ["apiserver/body.ts", "readObject"],
  ["apiserver/managed.ts", "trackManagedFields"],
  ["registry/create.ts", "storeCreate"],
  ["registry/create.ts", "prepareCreate"],
  ["registry/create.ts", "validateCreate"],
  ["registry/create.ts", "storeCreated"],
  ["registry/resource-storage.ts", "putObject"],
  ["store/sequencer.ts", "sequence"],
  ["store/sequencer.ts", "#put"],
  ["store/commit.ts", "#start"],
  ["store/commit.ts", "#appended"],
  ["store/embedded.ts", "#publish"],
  ["store/watches.ts", "publish"],
  ["registry/cacher.ts", "#deliver"],
  ["registry/cacher.ts", "#apply"],
  ["watch/cache.ts", "apply"],
  ["watch/cache.ts", "requestDispatch"],
  ["watch/delivery-scheduler.ts", "request"],
  ["watch/dispatcher.ts", "#dispatch"],
  ["watch/dispatcher.ts", "#dispatchRun"],
  ["watch/cursor-index.ts", "assign"],
  ["watch/dispatcher.ts", "dispatchBucket"],
  ["watch/cursor.ts", "offer"],
  ["server/watch-stream.ts", "deliver"],
  ["scheduler/scheduler.ts", "#podSet"],
  ["scheduler/scheduler.ts", "#pump"],
  ["scheduler/scheduler.ts", "#scheduleOne"],
  ["scheduler/schedule-algorithm.ts", "decide"],
  ["scheduler/cache.ts", "assume"],
  ["scheduler/bind.ts", "bind"],
  ["registry/freshness.ts", "applied"],
  ["apiserver/binding.ts", "bindPod"],
  ["hollow/pods.ts", "apply"],
  ["hollow/pods.ts", "#reconcile"],
  ["hollow/pod-plan.ts", "planPod"],
  ["hollow/pods.ts", "#write"],
];

/** Notes calls of functions of `src`, from `start` on. */
class CallTrace {
  readonly calls: string[] = [];
  readonly #session = new Session();
  readonly #scripts = new Map<string, string>();
  #isOn = false;

  constructor() {
    this.#session.connect();
    this.#session.on("Debugger.scriptParsed", ({ params }) =>
      this.#scripts.set(params.url, params.scriptId),
    );
    this.#session.post("Debugger.enable");
    Reflect.set(globalThis, "noteCall", (name: string) => this.#note(name));
  }

  start(): void {
    this.#isOn = true;
  }

  close(): void {
    this.#session.disconnect();
    Reflect.deleteProperty(globalThis, "noteCall");
  }

  #note(name: string): boolean {
    if (this.#isOn) this.calls.push(name);
    return false;
  }

  /** At the first statement of a function or method: the formatter ends its head with a brace. */
  watch(file: string, name: string): void {
    const url = new URL(`../../src/${file}`, import.meta.url);
    const lines = readFileSync(url, "utf8").split("\n");
    const head = new RegExp(
      `^(?:(?:export )?(?:async )?function |  (?:static |async )*)${name}[(<]`,
    );
    const at = lines.findIndex((line) => head.test(line));
    assert.ok(at >= 0, `src/${file} has no function ${name}`);
    const body = lines.findIndex((line, i) => i >= at && line.endsWith("{"));
    const scriptId = this.#scripts.get(url.href);
    assert.ok(scriptId !== undefined, `src/${file} is not loaded`);
    const start = { scriptId, lineNumber: body, columnNumber: lines[body]?.length ?? 0 };
    let location: Debugger.BreakLocation | undefined;
    this.#session.post("Debugger.getPossibleBreakpoints", { start }, (_error, found) => {
      location = found?.locations[0];
    });
    assert.ok(location !== undefined, `src/${file} ${name} has no statement`);
    const condition = `noteCall(${JSON.stringify(`${file} ${name}`)})`;
    this.#session.post("Debugger.setBreakpoint", { location, condition });
  }
}

/** Over HTTP/2, as kubectl. */
async function createPod(url: string, kubeconfig: string): Promise<number> {
  const { clusters, users } = parse(kubeconfig) as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
  };
  const pem = (text: string | undefined): Buffer => Buffer.from(text ?? "", "base64");
  const user = users[0]?.user ?? {};
  const session = connect(url, {
    ca: pem(clusters[0]?.cluster["certificate-authority-data"]),
    cert: pem(user["client-certificate-data"]),
    key: pem(user["client-key-data"]),
  });
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/api/v1/namespaces/default/pods",
    "content-type": "application/json",
  });
  const spec = { containers: [{ name: "web", image: "nginx" }] };
  stream.end(JSON.stringify({ metadata: { name: "web" }, spec }));
  const status = await new Promise<number>((resolve, reject) => {
    stream.on("response", (headers) => resolve(Number(headers[constants.HTTP2_HEADER_STATUS])));
    stream.on("error", reject);
  });
  stream.resume();
  session.close();
  return status;
}

/** The names of `wanted` up to the first that does not follow the others in `calls`. */
function inOrder(wanted: readonly string[], calls: readonly string[]): readonly string[] {
  const found: string[] = [];
  let from = 0;
  for (const name of wanted) {
    const at = calls.indexOf(name, from);
    if (at < 0) return found;
    found.push(name);
    from = at + 1;
  }
  return found;
}

test("the way of a pod and of its watch event calls the functions of the reading page in its order", async () => {
  const trace = new CallTrace();
  const plane = await startControlPlane();
  try {
    for (const [file, name] of podWay) trace.watch(file, name);
    const pods = { group: "", version: "v1", resource: "pods" };
    const { metadata } = await plane.client.list(pods, { namespace: "default" });
    const { resourceVersion = "" } = metadata;
    trace.start();
    assert.equal(await createPod(plane.url, plane.kubeconfig), 201);
    const ended = new AbortController();
    const call = { namespace: "default", resourceVersion, signal: ended.signal };
    await plane.client.watch<Pod>(pods, call, (events) => {
      if (events.some(({ object }) => object.status?.phase === "Running")) ended.abort();
    });
  } finally {
    await plane.stop();
    trace.close();
  }
  const wanted = podWay.map(([file, name]) => `${file} ${name}`);
  assert.deepEqual(inOrder(wanted, trace.calls), wanted);
});
