/**
 * One change for many watchers holds neither the loop of a plane nor that of a relay, and every watcher gets it. Judged as
 * the worst cases of one request are (run-attacks.ts).
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, suite, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { heldMsMax, json } from "./attack.ts";
import { type Crowd, crowds } from "./cases/crowds.ts";
import { agentOf, apiOf } from "./exchange.ts";
import { askHeld } from "./held.ts";
import { startTargets, type Target, type Targets } from "./targets.ts";

/** Neighbours of a shared core and cold code only ever add CPU time. */
const measuresMax = 3;

/** Of long selectors a user may hold as many bytes as this many watches have. */
const watchesMin = 40;

/** Who watches, and how much each was sent. */
interface Watcher {
  readonly socket: TLSSocket;
  bytes: number;
}

interface List {
  readonly metadata: { readonly resourceVersion: string };
}

for (const which of ["plane", "relay"] as const) {
  suite(`crowds of watches hold no loop: ${which}`, () => {
    let targets: Targets;
    before(async () => {
      targets = await startTargets(`crowds-${which}`, which === "relay");
    });
    after(() => targets.stop());

    for (const crowd of crowds) {
      test(crowd.name, async () => {
        const target = targets[which];
        assert.ok(target, "the target runs");
        let heldMs = await measured(target, targets, crowd);
        for (let again = 1; heldMs > heldMsMax && again < measuresMax; again++)
          heldMs = Math.min(heldMs, await measured(target, targets, crowd));
        console.log(`${heldMs.toFixed(1).padStart(8)} held CPU ms  ${which}: ${crowd.name}`);
        assert.ok(heldMs <= heldMsMax, `held the loop ${heldMs.toFixed(0)} ms, not ${heldMsMax}`);
      });
    }
  });
}

/** The loop's longest stand still from the change until all have it. */
async function measured(target: Target, targets: Targets, crowd: Crowd): Promise<number> {
  const agent = agentOf(targets.credentials, 1);
  const plane = apiOf(targets.plane.url, agent);
  await crowd.prepare?.(plane);
  const watchers: Watcher[] = [];
  try {
    const none = await plane.send({
      method: "GET",
      path: `${crowd.path}?fieldSelector=metadata.name%3Dnone`,
    });
    const { resourceVersion } = (JSON.parse(none.text) as List).metadata;
    for (let at = 0; at < crowd.watches; at++) {
      const watcher = await watch(target.url, targets, crowd, { at, resourceVersion });
      if (watcher === undefined) break;
      watchers.push(watcher);
    }
    assert.ok(watchers.length >= watchesMin, `${watchers.length} watches`);
    for (const watcher of watchers) watcher.bytes = 0;
    await askHeld(target.child, "reset");
    const body = JSON.stringify(crowd.object());
    const { status, text } = await plane.send({
      method: "POST",
      path: crowd.path,
      contentType: json,
      body: () => body,
    });
    assert.equal(status, 201, text.slice(0, 300));
    await allTold(watchers, crowd);
    return (await askHeld(target.child, "read")).heldCpuMs;
  } finally {
    for (const { socket } of watchers) socket.destroy();
    agent.destroy();
  }
}

/** Open: its head has come. Undefined: their user has as long selectors as one may have. */
async function watch(
  url: string,
  { credentials }: Targets,
  { path, query, accept = json }: Crowd,
  { at, resourceVersion }: { readonly at: number; readonly resourceVersion: string },
): Promise<Watcher | undefined> {
  const { hostname, port } = new URL(url);
  const { ca, cert, key } = credentials;
  const socket = connect({ host: hostname, port: Number(port), ca, cert, key });
  const watcher = { socket, bytes: 0 };
  socket.on("error", () => {});
  socket.on("data", (piece: Buffer) => void (watcher.bytes += piece.length));
  await once(socket, "secureConnect");
  const selection = query === undefined ? "" : `&${query(at)}`;
  const target = `${path}?watch=1&timeoutSeconds=600${selection}&resourceVersion=${resourceVersion}`;
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  const status = head.toString("latin1", 0, 12);
  assert.match(status, query === undefined ? /^HTTP\/1\.1 200$/ : /^HTTP\/1\.1 (200|429)$/);
  if (status.endsWith("200")) return watcher;
  socket.destroy();
  return undefined;
}

async function allTold(watchers: readonly Watcher[], { bytesMin }: Crowd): Promise<void> {
  const isTold = ({ bytes }: Watcher): boolean => bytes >= bytesMin;
  for (const watcher of watchers) {
    while (!isTold(watcher)) {
      assert.equal(watcher.socket.closed, false, "a watch was cut");
      await once(watcher.socket, "data");
    }
  }
}
