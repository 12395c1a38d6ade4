/** `latestOnly=true` over sockets, a relay process before a plane: once per object and window, and nothing lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CheckingWatcher, totals } from "./checking-watcher.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { type Credentials, credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const path = "/api/v1/namespaces/default/configmaps";
/** `latestWindowMs` of the relay. */
const windowMs = 100;
const rounds = 40;
const directory = temporaryDirectory("latest");
let plane: Running;
let relay: RunningRelay;
let credentials: Credentials;
let upstream: KubeHttp;
/** A write that changes nothing is none. */
let count = 0;

before(async () => {
  const dataDir = join(directory, "data");
  plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
  const { kubeconfig } = plane;
  const args = ["--resources", "configmaps"];
  const pki = join(dataDir, "pki");
  relay = await startRelay({ kubeconfig, directory, name: "relay", pki, args });
  credentials = credentialsOf(relay.kubeconfig);
  upstream = new KubeHttp(credentialsOf(kubeconfig));
});

after(async () => {
  upstream.close();
  await relay.kill();
  await plane.stop();
  removeDirectory(directory);
});

test("an object comes at most once a window, and a resume with or without the parameter misses nothing", async () => {
  for (const name of ["hot", "warm", "still"]) await create(name);
  const { body } = await upstream.request("GET", path);
  const start = String(body["metadata"]?.["resourceVersion"]);
  const seen = watchUntil(start, true);
  const beganMs = performance.now();
  const written: string[] = [];
  for (let n = 0; n < rounds; n++) {
    const names = ["hot", "hot", "hot", "hot", "warm"];
    written.push(...(await Promise.all(names.map((name) => write(name)))));
  }
  const last = await write("warm");
  written.push(last);
  written.sort((a, b) => Number(a) - Number(b));
  const told = await seen(last);
  const windows = (performance.now() - beganMs) / windowMs;

  for (const name of ["hot", "warm"]) {
    const count = told.filter((event) => event.name === name).length;
    // One at once after the quiet before, then one a window.
    assert.ok(count >= 2 && count <= windows + 2, `${name}: ${count} in ${windows} windows`);
  }
  assert.ok(told.length < written.length, `${told.length} of ${written.length}`);
  assertRising(told);

  const middle = told[told.length >> 1]?.revision ?? "";
  const rest = written.filter((revision) => Number(revision) > Number(middle));
  const plain = await watchUntil(middle, false)(last);
  assert.deepEqual(
    plain.map(({ revision }) => revision),
    rest,
  );
  const latest = await watchUntil(middle, true)(last);
  assert.deepEqual(latest.map(({ name }) => name).toSorted(), ["hot", "warm"]);
  assertRising(latest);
});

test("the sum of every bookmark is that of what was told, in turn with and without the parameter", async () => {
  const watchers = Array.from({ length: 4 }, (_, first) => {
    return new CheckingWatcher([credentials], {
      path,
      first,
      timeoutSeconds: 1,
      latestInTurn: true,
    });
  });
  // Two resumes each: both ways from one to the other.
  for (let n = 0; watchers.some(({ counts }) => counts.resumes < 3); n++) {
    await write("hot");
    await write(n % 2 === 0 ? "warm" : "still");
    if (n % 20 !== 0) continue;
    await upstream.request("DELETE", `${path}/still`);
    await create("still");
  }
  for (const watcher of watchers) await watcher.stop();
  const { sums, mismatched, disordered, refused, snapshots } = totals(watchers);
  assert.deepEqual(
    { mismatched, disordered, refused, snapshots },
    {
      mismatched: 0,
      disordered: 0,
      refused: 0,
      snapshots: 4,
    },
  );
  assert.ok(sums >= 8, `${sums} sums`);
});

interface Told {
  readonly name: string;
  readonly revision: string;
}

/** A watch from `start`; the function waits until it has got `last` and returns all its events. */
function watchUntil(start: string, latest: boolean): (last: string) => Promise<readonly Told[]> {
  const client = new KubeHttp(credentials);
  const told: Told[] = [];
  let heard = (): void => {};
  const query = `watch=true&resourceVersion=${start}${latest ? "&latestOnly=true" : ""}`;
  const ended = client.watch(`${path}?${query}`, ({ object }) => {
    const { metadata } = object;
    told.push({
      name: String(metadata?.["name"]),
      revision: String(metadata?.["resourceVersion"]),
    });
    heard();
  });
  return async (last) => {
    await new Promise<void>((resolve) => {
      heard = () => {
        if (told.some(({ revision }) => revision === last)) resolve();
      };
      heard();
      void ended.then(resolve);
    });
    client.close();
    assert.ok(
      told.some(({ revision }) => revision === last),
      "the watch ended before",
    );
    return told;
  };
}

async function create(name: string): Promise<void> {
  const { status } = await upstream.request("POST", path, { metadata: { name }, data: { n: "" } });
  assert.equal(status, 201);
}

async function write(name: string): Promise<string> {
  const type = "application/merge-patch+json";
  const patch = { data: { n: String(count++) } };
  const { status, body } = await upstream.request("PATCH", `${path}/${name}`, patch, type);
  assert.equal(status, 200);
  return String(body["metadata"]?.["resourceVersion"]);
}

function assertRising(told: readonly Told[]): void {
  told.forEach(({ revision }, at) => {
    const before = told[at - 1];
    if (before !== undefined) assert.ok(Number(before.revision) < Number(revision));
  });
}
