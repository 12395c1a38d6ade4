/** Looks of the doctor while faults, or their neighbours, are there: on a plane of ours, or a stock API server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import { parse } from "yaml";
import { openWebhookServer } from "#extension/testing/webhook-server.ts";
import type { LiveFault, LiveWorld, Made } from "./doctor-faults.ts";
import { doctor, type Told } from "./doctor-run.ts";
import { clientOf } from "./role-harness.ts";

/** What the machine and its other work decide, not the faults. */
const ofTheMachine = new Set(["server-busy", "store-disk", "store-latency"]);

export interface OpenWorld extends LiveWorld {
  readonly kubeconfig: string;
  /** Deletes what was created. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(kubeconfig: string): Promise<OpenWorld> {
  const hooks = await openWebhookServer(Date.now());
  hooks.on("/allow", () => ({ allowed: true }));
  hooks.on("/slow", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    return { allowed: true };
  });
  const asking = await clientOf(kubeconfig);
  const { client } = asking;
  const connection = new Connection(kubeconfig);
  const made: (() => Promise<unknown>)[] = [];
  // A stock API server alone has nobody to make it, and pods need it.
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  while ((await connection.ask("POST", accounts, { metadata: { name: "default" } })) !== 409) {
    await pause();
  }
  return {
    kubeconfig,
    hooks,
    create: async (ref, namespace, object) => {
      await client.create(ref, namespace, object);
      made.push(() => client.delete(ref, namespace, object.metadata?.name ?? ""));
    },
    heal: async () => {
      for (const remove of made.splice(0)) await remove();
      connection.endWatches();
    },
    ask: (method, path, body, as) => connection.ask(method, path, body, as),
    watch: (path) => connection.watch(path),
    watchUnread: (path) => connection.watch(path, false),
    close: async () => {
      connection.close();
      asking.close();
      await hooks.close();
    },
  };
}

/** HTTP/2 as the kubeconfig's user, in sessions of fifty watches. */
class Connection {
  readonly #access: Access;
  readonly #session: http2.ClientHttp2Session;
  readonly #watching: http2.ClientHttp2Session[] = [];
  #watches = 0;

  constructor(kubeconfig: string) {
    this.#access = accessOf(kubeconfig);
    this.#session = this.#connect();
  }

  ask(method: string, path: string, body?: unknown, as?: string): Promise<number> {
    return new Promise((resolve) => {
      const end = { endStream: body === undefined };
      const user = as === undefined ? {} : { "impersonate-user": as };
      const stream = this.#session.request({ ...this.#headers(method, path), ...user }, end);
      let status = 0;
      stream.on("response", (headers) => (status = Number(headers[":status"])));
      stream.resume();
      stream.on("error", () => {});
      stream.on("close", () => resolve(status));
      if (body !== undefined) stream.end(JSON.stringify(body));
    });
  }

  watch(path: string, isRead = true): Promise<void> {
    if (this.#watches++ % 50 === 0) this.#watching.push(this.#connect());
    return new Promise((resolve) => {
      const stream = this.#watching.at(-1)?.request(this.#headers("GET", path));
      stream?.on("response", () => resolve());
      stream?.on("error", () => resolve());
      if (isRead) stream?.resume();
    });
  }

  endWatches(): void {
    for (const session of this.#watching.splice(0)) session.destroy();
    this.#watches = 0;
  }

  close(): void {
    this.endWatches();
    this.#session.destroy();
  }

  #connect(): http2.ClientHttp2Session {
    const session = http2.connect(this.#access.server, this.#access.secure);
    session.on("error", () => {});
    session.on("goaway", (c, l, d) => console.log("GOAWAY", c, l, String(d)));
    return session;
  }

  #headers(method: string, path: string): http2.OutgoingHttpHeaders {
    const head = { ":method": method, ":path": path, "user-agent": "live-load/1.0" };
    return { ...head, ...this.#access.headers, "content-type": "application/json" };
  }
}

interface Access {
  readonly server: string;
  readonly secure: http2.SecureClientSessionOptions;
  readonly headers: Readonly<Record<string, string>>;
}

function accessOf(kubeconfig: string): Access {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8"));
  const { server } = clusters[0].cluster;
  const user = users[0].user;
  const decode = (name: string): Buffer => Buffer.from(user[name] ?? "", "base64");
  const certificate = {
    cert: decode("client-certificate-data"),
    key: decode("client-key-data"),
  };
  const hasToken = typeof user.token === "string";
  return {
    server,
    secure: { rejectUnauthorized: false, maxSessionMemory: 512, ...(hasToken ? {} : certificate) },
    headers: hasToken ? { authorization: `Bearer ${user.token}` } : {},
  };
}

type Findings = Told["findings"];

/** The neighbours first: none of the rules may fire. Then the faults: each rule names its culprit, and no other fires. */
export async function checkGroup(
  world: OpenWorld,
  group: readonly LiveFault[],
  flags: readonly string[] = [],
  aheadMs = 0,
): Promise<void> {
  const own = new Set(group.map(({ rule }) => rule));
  const explained = new Set(group.flatMap(({ also = [] }) => also));
  const isOther = ({ rule }: Findings[number]): boolean =>
    !own.has(rule) && !explained.has(rule) && !ofTheMachine.has(rule);
  const lookAt = async (what: "fault" | "neighbour"): Promise<Findings> =>
    look(world, await makeAll(world, group, what), flags, aheadMs);
  const isWrong = (finding: Findings[number]): boolean => own.has(finding.rule) || isOther(finding);
  let wrong = (await lookAt("neighbour")).filter(isWrong);
  // Another program may have kept the disk busy.
  for (let more = 2; more > 0 && isOfTheMachine(wrong); more--) {
    wrong = (await lookAt("neighbour")).filter(isWrong);
  }
  assert.deepEqual(wrong.map(lineOf), [], "neighbours");
  const isMissing = (found: Findings): boolean =>
    group.some(({ rule }) => ofTheMachine.has(rule) && !found.some((one) => one.rule === rule));
  let ill = await lookAt("fault");
  // Another program may have kept the processors that the load needs.
  for (let more = 2; more > 0 && isMissing(ill); more--) {
    await world.heal();
    ill = await lookAt("fault");
  }
  await world.heal();
  for (const { rule, culprit } of group) {
    const found = ill.filter((finding) => finding.rule === rule).map((one) => one.culprit);
    assert.ok(
      found.some((one) => culprit.test(one)),
      `${rule}: ${JSON.stringify(found)} is not ${culprit}; all: ${ill.map(lineOf).join("; ")}`,
    );
  }
  assert.deepEqual(ill.filter(isOther).map(lineOf), [], "other rules");
}

const isOfTheMachine = (wrong: Findings): boolean =>
  wrong.length > 0 && wrong.every(({ rule }) => ofTheMachine.has(rule));

const lineOf = ({ rule, culprit }: Findings[number]): string => `${rule}: ${culprit}`;

async function makeAll(
  world: OpenWorld,
  group: readonly LiveFault[],
  what: "fault" | "neighbour",
): Promise<readonly Made[]> {
  const made: Made[] = [];
  for (const one of group) made.push(await one[what](world));
  return made;
}

async function look(
  { kubeconfig }: OpenWorld,
  made: readonly Made[],
  flags: readonly string[],
  aheadMs: number,
): Promise<Findings> {
  const loads = made.map(({ load }) => load).filter((load) => load !== undefined);
  // Each at its own pace: a slow one does not thin out the others.
  let isOver = false;
  const running = loads.map(async (load) => {
    while (!isOver) await Promise.all([load(), pause()]);
  });
  const { stdout, stderr } = await doctor(kubeconfig, pause, flags, aheadMs);
  isOver = true;
  await Promise.all(running);
  for (const { end } of made) await end?.();
  assert.notEqual(stdout, "", stderr);
  return (JSON.parse(stdout) as Told).findings;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}
