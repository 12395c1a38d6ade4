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
  ["core/platform/node/http/http2.ts", "plainRequest"],
  ["gate/server/chain.ts", "runChain"],
  ["gate/server/chain.ts", "runChainAuthenticate"],
  ["gate/server/chain.ts", "runChainAuthorize"],
  ["gate/server/place.ts", "targetOf"],
  ["gate/server/place.ts", "of"],
  ["gate/apiserver/route.ts", "serveResource"],
  ["gate/apiserver/route.ts", "servePersisted"],
  ["gate/apiserver/create.ts", "handleCreate"],
  ["gate/apiserver/body.ts", "readObject"],
  ["gate/apiserver/managed.ts", "trackManagedFields"],
  ["commit/registry/create.ts", "storeCreate"],
  ["commit/registry/create.ts", "prepareCreate"],
  ["commit/registry/create.ts", "validateCreate"],
  ["commit/registry/create.ts", "storeCreated"],
  ["commit/registry/resource-storage.ts", "putObject"],
  ["commit/store/sequencer.ts", "sequence"],
  ["commit/store/sequencer.ts", "#put"],
  ["commit/store/commit.ts", "#start"],
  ["commit/store/commit.ts", "#appended"],
  ["commit/store/embedded.ts", "#publish"],
  ["commit/store/watches.ts", "publish"],
  ["commit/registry/cacher.ts", "#deliver"],
  ["commit/registry/cacher.ts", "#apply"],
  ["crowd/watch/cache.ts", "apply"],
  ["crowd/watch/cache.ts", "requestDispatch"],
  ["crowd/watch/delivery-scheduler.ts", "request"],
  ["crowd/watch/dispatcher.ts", "#dispatch"],
  ["crowd/watch/dispatcher.ts", "#dispatchRun"],
  ["crowd/watch/cursor-index.ts", "assign"],
  ["crowd/watch/dispatcher.ts", "dispatchBucket"],
  ["crowd/watch/cursor.ts", "offer"],
  ["gate/server/watch-stream.ts", "deliver"],
  ["loops/scheduler/scheduler.ts", "#podSet"],
  ["loops/scheduler/scheduler.ts", "#pump"],
  ["loops/scheduler/scheduler.ts", "#scheduleOne"],
  ["loops/scheduler/schedule-algorithm.ts", "decide"],
  ["loops/scheduler/cache.ts", "assume"],
  ["loops/scheduler/bind.ts", "bind"],
  ["commit/registry/freshness.ts", "applied"],
  ["gate/apiserver/binding.ts", "bindPod"],
  ["loops/hollow/pods.ts", "apply"],
  ["loops/hollow/pods.ts", "#reconcile"],
  ["loops/hollow/pod-plan.ts", "planPod"],
  ["loops/hollow/pods.ts", "#write"],
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
