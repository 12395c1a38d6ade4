/** `npm run bench -- crowd`: see `usage`. Clients are plain sockets that keep the newest resourceVersion they saw. */
import { connect } from "node:net";
import { join } from "node:path";
import { removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { type ClearRelay, readerToken, startRelay } from "./relay-in-clear.ts";

const usage = `npm run bench -- crowd [--clients 3000]

Watchers spread over three relay processes, one of which is killed (SIGKILL): how long until all of its
watchers have resumed at the others and everybody has been told the next write; what that cost the
upstream, by the upstream's own metrics, and the relays in snapshots.

  --clients N   watchers in all

Server and clients share the machine's cores.
`;
const clients = flagsOf(usage, { clients: "3000" }).number("clients");
const path = "/api/v1/namespaces/default/configmaps";
const withinMs = 60_000;
/** As clients do that were cut at one moment: spread over so long. */
const reconnectMs = 1_000;
/** Connections started at once. */
const pace = 100;

/** One watcher; goes on at the next relay when its own is gone. */
class Client {
  /** The newest name it has seen. */
  heard = "";
  connectedTo = -1;
  refused = 0;
  #relay: number;
  #position: string;
  readonly #relays: readonly ClearRelay[];
  readonly #token: string;

  constructor(
    relays: readonly ClearRelay[],
    options: { first: number; position: string; token: string },
  ) {
    this.#relays = relays;
    this.#relay = options.first % relays.length;
    this.#position = options.position;
    this.#token = options.token;
    this.#connect();
  }

  #connect(): void {
    const relay = this.#relay;
    const socket = connect(this.#relays[relay]?.port ?? 0, "127.0.0.1");
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#position}`;
    socket.write(
      `GET ${path}?${query} HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer ${this.#token}\r\n\r\n`,
    );
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text, relay));
    socket.on("error", () => {});
    socket.on("close", () => {
      if (over) return;
      this.connectedTo = -1;
      this.#relay = (relay + 1) % this.#relays.length;
      setTimeout(() => this.#connect(), Math.random() * reconnectMs);
    });
  }

  #take(text: string, relay: number): void {
    if (text.startsWith("HTTP/1.1 200")) this.connectedTo = relay;
    if (text.includes('"code":410')) this.refused++;
    const position = /.*"resourceVersion":"(\d+)"/s.exec(text)?.[1];
    if (position !== undefined) this.#position = position;
    const name = /.*"name":"(written-\d+)"/s.exec(text)?.[1];
    if (name !== undefined) this.heard = name;
  }
}

let over = false;
const directory = temporaryDirectory("crowd");
const plane = await startUp(["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"]);
const admin = new KubeHttp(credentialsOf(plane.kubeconfig));
const relays: ClearRelay[] = [];
try {
  await main();
} finally {
  over = true;
  for (const { child } of relays) child.kill("SIGKILL");
  admin.close();
  await plane.kill();
  removeDirectory(directory);
}
process.exit(0);

async function main(): Promise<void> {
  const token = await readerToken(admin);
  for (let at = 0; at < 3; at++) relays.push(await startRelay(plane.kubeconfig));
  const position = await write("written-0");
  await write("written-1");
  const crowd: Client[] = [];
  for (let first = 0; first < clients; first++) {
    crowd.push(new Client(relays, { first, position, token }));
    if (first % pace === pace - 1) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await until("all watch", () => crowd.every(({ connectedTo }) => connectedTo >= 0));
  await until("all are told", () => crowd.every(({ heard }) => heard === "written-1"));
  const before = { lists: await upstreamLists(), ...(await started(token)) };
  if (before.lists < relays.length) throw new Error("the plane does not count the relays' lists");
  const killed = crowd.filter(({ connectedTo }) => connectedTo === 1);
  const startedMs = performance.now();
  relays[1]?.child.kill("SIGKILL");
  await until("the cut is felt", () => killed.every(({ connectedTo }) => connectedTo !== 1));
  await until("all resumed", () => crowd.every(({ connectedTo }) => connectedTo >= 0));
  const resumedS = (performance.now() - startedMs) / 1000;
  const writtenMs = performance.now();
  await write("written-2");
  await until("all are told", () => crowd.every(({ heard }) => heard === "written-2"));
  const toldS = (performance.now() - writtenMs) / 1000;
  const after = { lists: await upstreamLists(), ...(await started(token)) };
  console.log(`${clients} watchers on three relays, one killed with ${killed.length}`);
  console.log(`all resumed       ${resumedS.toFixed(2)} s after the kill (aim 5)`);
  console.log(`all told          ${toldS.toFixed(2)} s after the next write`);
  console.log(`lists upstream    ${after.lists - before.lists} (aim 0)`);
  console.log(`snapshots         ${after.state - before.state} (aim 0)`);
  console.log(`resumes           ${after.resumed - before.resumed}`);
  console.log(`told 410          ${crowd.reduce((sum, { refused }) => sum + refused, 0)}`);
}

/** Lists of config maps the plane has answered, as it counts them itself. */
async function upstreamLists(): Promise<number> {
  const { body } = await admin.request("GET", "/metrics");
  const samples = String(body["text"]).matchAll(
    /^apiserver_request_total\{([^}]*verb="LIST"[^}]*)\} (\d+)$/gm,
  );
  let lists = 0;
  for (const [, labels = "", count] of samples) {
    if (labels.includes('resource="configmaps"')) lists += Number(count);
  }
  return lists;
}

/** Watches begun at the two relays that stay, by how. */
async function started(token: string): Promise<{ state: number; resumed: number }> {
  const sums = { state: 0, resumed: 0 };
  for (const { port } of [relays[0], relays[2]].filter((relay) => relay !== undefined)) {
    const headers = { authorization: `Bearer ${token}` };
    const text = await (await fetch(`http://127.0.0.1:${port}/relay/metrics`, { headers })).text();
    for (const kind of ["state", "resumed"] as const) {
      const found = new RegExp(`^relay_watches_started_total\\{start="${kind}"\\} (\\d+)$`, "m");
      sums[kind] += Number(found.exec(text)?.[1] ?? 0);
    }
  }
  return sums;
}

async function write(name: string): Promise<string> {
  const { status, body } = await admin.request("POST", path, { metadata: { name } });
  if (status !== 201) throw new Error(`${name} was answered ${status}`);
  return String(body["metadata"]?.["resourceVersion"]);
}

async function until(what: string, reached: () => boolean): Promise<void> {
  const end = performance.now() + withinMs;
  while (!reached()) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
