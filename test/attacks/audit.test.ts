/** The audit trail tells all, and whatever its sink does, no request and no process ends by it. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { connect } from "node:tls";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { NodeClock } from "#platform/node/clock.ts";
import { silentLog } from "#platform/log.ts";
import { openLineFile } from "#platform/node/line-file.ts";
import { AuditEvent } from "#server/audit/event.ts";
import { type AuditMode, LogBackend } from "#server/audit/log-backend.ts";
import { metadataPolicy, type PolicyRule } from "#server/audit/policy.ts";
import { keptAudit, type KeptEvent } from "#server/audit/testing/kept-audit.ts";
import type { Audit, AuditBackend } from "#server/audit/trail.ts";
import { requestInfo } from "#server/request-info.ts";
import { fetchWith } from "../process/fetch-with.ts";
import { pilothouse, removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { keptLog, type PromisedPlane, startPromised } from "./promised-plane.ts";

const directory = temporaryDirectory("audit");
after(() => removeDirectory(directory));
const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (metadata: object): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata });

async function withPlane(
  audit: Audit,
  f: (promised: PromisedPlane) => Promise<void>,
): Promise<void> {
  const promised = await startPromised({ audit });
  try {
    await f(promised);
  } finally {
    await promised.stop();
  }
}

function lineOf(text: string, name: string): number {
  const found = text.split("\n").find((line) => line.startsWith(name));
  return Number(found?.slice(found.lastIndexOf(" ") + 1));
}

describe("a sink that throws", () => {
  test("touches neither writes nor watches, is counted, logged once and shown", async () => {
    const { log, lines } = keptLog();
    const sink: AuditBackend = {
      take() {
        throw new Error("no space left on device");
      },
    };
    const audit = { policy: metadataPolicy, backends: [sink] };
    const promised = await startPromised({ audit, log });
    try {
      const made = await promised.ask("POST", configMaps, { body: configMap({ name: "a" }) });
      assert.equal(made.status, 201, made.text);
      assert.equal((await promised.ask("GET", `${configMaps}/a`)).status, 200);
      await promised.watchOnce(`${configMaps}?watch=true`);
      const metrics = await promised.ask("GET", "/metrics");
      assert.equal(metrics.status, 200, "the process lives after a watch has closed");
      assert.ok(lineOf(metrics.text, "apiserver_audit_error_total{") >= 3);
      const ready = await promised.ask("GET", "/readyz?verbose");
      assert.equal(ready.status, 200, "readiness stays: clients must not lose the API by it");
      assert.match(ready.text, /\[-\]audit failed: reason withheld \(informational\)/);
      const alone = await promised.ask("GET", "/readyz/audit");
      assert.equal(alone.status, 500);
      assert.match(alone.text, /no space left on device/);
      const told = lines.filter(({ message }) => message === "audit sink failed");
      assert.equal(told.length, 1);
    } finally {
      await promised.stop();
    }
  });
});

describe("what an event tells", () => {
  test("names what was sent, and the pod of a binding", async () => {
    const { audit, events } = keptAudit();
    await withPlane(audit, async ({ ask }) => {
      await ask("POST", configMaps, { body: configMap({ name: "given" }) });
      await ask("PUT", `${configMaps}/given`, { body: configMap({ name: "given" }) });
      const names = events
        .filter(
          ({ objectRef, verb }) => objectRef?.["resource"] === "configmaps" && verb !== "list",
        )
        .map(({ verb, objectRef, responseStatus }) => [
          verb,
          objectRef?.["name"],
          responseStatus?.code,
        ]);
      assert.deepEqual(names.slice(-2), [
        ["create", "given", 201],
        ["update", "given", 200],
      ]);
    });
  });

  test("a request that the HTTP rim refuses has an event with address, target and reason", async () => {
    const { audit, events } = keptAudit();
    await withPlane(audit, async ({ plane }) => {
      const { hostname, port } = new URL(plane.url);
      const status = await rawRequest(hostname, Number(port), "GET /api/%zz HTTP/1.1");
      assert.match(status, /^HTTP\/1\.1 400 /);
    });
    const event = events.find(({ requestURI }) => requestURI === "/api/%zz");
    assert.ok(event !== undefined, "no event");
    assert.equal(event.responseStatus?.code, 400);
    assert.deepEqual(event.user, {});
    assert.deepEqual(event.sourceIPs, ["127.0.0.1"]);
  });

  test("no token, no value of a Secret and no patch of one is in an event below the level that asks", async () => {
    const { audit, events } = keptAudit({ ...metadataPolicy, omitStages: [] });
    const secrets = "/api/v1/namespaces/default/secrets";
    await withPlane(audit, async ({ ask }) => {
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
      await ask("POST", secrets, { body: { ...secret, stringData: { p: "hidden-value" } } });
      const patch = { stringData: { p: "hidden-patch" } };
      const type = "application/merge-patch+json";
      assert.equal((await ask("PATCH", `${secrets}/s`, { body: patch, type })).status, 200);
      await ask("GET", `${secrets}/s`);
      await ask("GET", configMaps, { token: "hidden-token" });
    });
    const text = JSON.stringify(events);
    assert.match(text, /"resource":"secrets"/);
    assert.doesNotMatch(text, /hidden-|aGlkZGVuL/);
  });

  test("an event of a level with bodies is bounded, and says what it leaves out", async () => {
    const [rule] = metadataPolicy.rules;
    const rules = [{ ...rule, level: "RequestResponse" } as PolicyRule];
    const { audit, events } = keptAudit({ ...metadataPolicy, rules });
    await withPlane(audit, async ({ ask }) => {
      const data = Object.fromEntries(
        Array.from({ length: 8 }, (_, at) => [`k${at}`, "x".repeat(120_000)]),
      );
      for (let at = 0; at < 5; at++)
        await ask("POST", configMaps, { body: { ...configMap({ name: `c${at}` }), data } });
      assert.equal((await ask("GET", configMaps)).status, 200);
    });
    const last = events.findLast(
      ({ verb, objectRef }) => verb === "list" && objectRef?.["resource"] === "configmaps",
    );
    assert.equal(last?.responseObject, undefined);
    assert.equal(last?.annotations?.["audit.k8s.io/truncated"], "true");
  });
});

function rawRequest(host: string, port: number, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host, port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
    const socket = connect(options, () => {
      socket.write(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`);
    });
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

describe("the file of --audit-log", () => {
  const host = { clock: new NodeClock(), log: silentLog };
  const lost = (): void => {};
  const file = (path: string, bufferBytesMax = 2 ** 20) =>
    openLineFile(host.clock, { path, mode: 0o600, bufferBytesMax, timer: "server.audit" });
  const backend = (path: string, of: Awaited<ReturnType<typeof file>>, log = silentLog) =>
    new LogBackend({ file: of, log }, { mode: "blocking", format: "json", path });
  const withMode = (mode: AuditMode, path: string, of: Awaited<ReturnType<typeof file>>) =>
    new LogBackend({ file: of, log: silentLog }, { mode, format: "json", path });
  const event = (auditId: string) =>
    new AuditEvent(
      {
        auditId,
        receivedMs: 0,
        requestUri: "/",
        info: requestInfo("GET", "/", new URLSearchParams()),
        user: { name: "alice", groups: [] },
        sourceIps: [],
        userAgent: "",
      },
      { level: "Metadata", omitStages: new Set(), omitManagedFields: false },
    ).at("ResponseComplete", 0);
  const ids = (path: string): readonly string[] =>
    readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((text) => (JSON.parse(text) as KeptEvent).auditID);
  const audited = (sink: AuditBackend): Audit => ({ policy: metadataPolicy, backends: [sink] });

  test("a path that cannot be written is told at the start in one sentence", () => {
    const up = ["up", "--port", "0", "--nodes", "0", "--data-dir", join(directory, "data")];
    const missing = pilothouse([...up, "--audit-log", join(directory, "none", "audit.log")]);
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /^pilothouse: cannot write the audit log .*folder is not there.*\n$/,
    );
    const folder = pilothouse([...up, "--audit-log", directory]);
    assert.equal(folder.code, 1);
    assert.match(folder.stderr, /^pilothouse: cannot write the audit log .*it is a folder.*\n$/);
  });

  test("SIGHUP after a rotation: `up` writes to the path again, and lives", async () => {
    const path = join(directory, "up.log");
    const data = ["--port", "0", "--nodes", "0", "--data-dir", join(directory, "up")];
    const up = await startUp([...data, "--audit-log", path]);
    try {
      renameSync(path, `${path}.1`);
      up.child.kill("SIGHUP");
      const ready = await fetchWith(up.url, "/readyz", "");
      assert.equal(ready.status, 200, up.output());
    } finally {
      assert.equal(await up.stop(), 0);
    }
    const has = (file: string): boolean =>
      readFileSync(file, "utf8").includes('"requestURI":"/readyz"');
    assert.deepEqual([has(`${path}.1`), has(path)], [false, true]);
  });

  test("events follow the path after a rotation and after a removal", async () => {
    const path = join(directory, "rotated.log");
    const first = await file(path);
    await backend(path, first).take(event("1"), lost);
    renameSync(path, `${path}.1`);
    first.reopen();
    await backend(path, first).take(event("2"), lost);
    rmSync(path);
    first.reopen();
    await backend(path, first).take(event("3"), lost);
    await first.close();
    assert.deepEqual(ids(`${path}.1`), ["1"]);
    assert.deepEqual(ids(path), ["3"]);
  });

  test("an answer leaves when its event is in the file", async () => {
    const path = join(directory, "blocking.log");
    const lines = await file(path);
    await withPlane(audited(backend(path, lines)), async ({ ask }) => {
      for (let at = 0; at < 20; at++) {
        const name = `c${at}`;
        await ask("POST", configMaps, { body: configMap({ name }) });
        assert.ok(readFileSync(path, "utf8").includes(`"name":"${name}"`));
      }
    });
    await lines.close();
  });

  test("what a full disk refuses waits within the buffer's limit, then is dropped and counted", async (t) => {
    const path = fullDisk("full.log");
    if (path === undefined) return t.skip("no /dev/full on this host");
    const { log, lines } = keptLog();
    const full = await file(path, 2_000);
    await withPlane(audited(backend(path, full, log)), async ({ ask }) => {
      for (let index = 0; index < 9; index++) {
        const made = await ask("POST", configMaps, { body: configMap({ name: `c${index}` }) });
        assert.equal(made.status, 201);
      }
      assert.match((await ask("GET", "/readyz?verbose")).text, /\[-\]audit failed/);
      assert.match((await ask("GET", "/readyz/audit")).text, /cannot append to .*ENOSPC/);
      const metrics = await ask("GET", "/metrics");
      assert.ok(lineOf(metrics.text, "apiserver_audit_error_total{") >= 5, metrics.text);
    });
    const told = lines.filter(({ message }) => message === "audit log cannot be written");
    assert.equal(told.length, 1);
    await full.close();
  });

  test("blocking-strict refuses a request whose first event a full disk refuses", async (t) => {
    const path = fullDisk("strict.log");
    if (path === undefined) return t.skip("no /dev/full on this host");
    const full = await file(path);
    const backends = [withMode("blocking-strict", path, full)];
    const promised = await startPromised({ audit: { policy: onlyConfigMaps, backends } });
    try {
      const { ask } = promised;
      const refused = await ask("POST", configMaps, { body: configMap({ name: "c" }) });
      assert.equal(refused.status, 500, refused.text);
      assert.match(refused.text, /failed to store audit event/);
      const metrics = await ask("GET", "/metrics");
      assert.equal(lineOf(metrics.text, "apiserver_audit_requests_rejected_total"), 1);
    } finally {
      await promised.stop();
      await full.close();
    }
  });

  test("8 clients without credentials cost no event of somebody, and are counted", async (t) => {
    const path = fullDisk("flood.log");
    if (path === undefined) return t.skip("no /dev/full on this host");
    const full = await file(path, 20_000);
    await withPlane(audited(backend(path, full)), async ({ plane, ask }) => {
      const long = `${configMaps}?${"x".repeat(30_000)}`;
      const client = async (): Promise<void> => {
        for (let index = 0; index < 5; index++)
          assert.equal((await fetchWith(plane.url, long, "")).status, 403);
      };
      await Promise.all(Array.from({ length: 8 }, client));
      for (let index = 0; index < 9; index++) {
        const made = await ask("POST", configMaps, { body: configMap({ name: `kept${index}` }) });
        assert.equal(made.status, 201);
      }
      const { text } = await ask("GET", "/metrics");
      const dropped = (caller: string): number =>
        lineOf(text, `pilothouse_audit_dropped_lines_total{caller="${caller}"}`);
      assert.ok(dropped("anonymous") > 20, text);
      assert.ok(Number.isNaN(dropped("named")), "none");
      assert.equal(lineOf(text, "apiserver_audit_error_total{"), dropped("anonymous"));
    });
    rmSync(path);
    full.reopen();
    await full.close();
    const kept = readFileSync(path, "utf8");
    for (let index = 0; index < 9; index++) assert.ok(kept.includes(`"name":"kept${index}"`));
  });

  test("mode batch loses what its buffer does not hold, strangers first", async (t) => {
    const path = fullDisk("batch.log");
    if (path === undefined) return t.skip("no /dev/full on this host");
    const options = { path, mode: 0o600, bufferBytesMax: 2 ** 20, timer: "server.audit" } as const;
    const full = await openLineFile(host.clock, { ...options, bufferLinesMax: 3 });
    const batch = withMode("batch", path, full);
    const gone: string[] = [];
    for (let at = 0; at < 5; at++)
      assert.equal(
        batch.take(event(`${at}`), (plugin) => gone.push(plugin)),
        true,
      );
    assert.deepEqual(gone, ["buffered", "buffered"]);
    await full.close();
  });

  test("events that waited are written when the disk has room again", async (t) => {
    const path = fullDisk("again.log");
    if (path === undefined) return t.skip("no /dev/full on this host");
    const full = await file(path);
    const sink = backend(path, full);
    await sink.take(event("held"), lost);
    rmSync(path);
    full.reopen();
    await sink.take(event("after"), lost);
    await full.close();
    assert.deepEqual(ids(path), ["held", "after"]);
    assert.equal(sink.problem(), undefined);
  });

  test("a folder that goes away costs events, not the process", async () => {
    const folder = join(directory, "gone");
    mkdirSync(folder);
    const path = join(folder, "audit.log");
    const lines = await file(path);
    const sink = backend(path, lines);
    rmSync(folder, { recursive: true });
    lines.reopen();
    await sink.take(event("lost"), lost);
    await lines.close();
    assert.match(sink.problem() ?? "", /cannot append/);
  });
});

const onlyConfigMaps = {
  ...metadataPolicy,
  omitStages: [],
  rules: metadataPolicy.rules.map((rule) => ({
    ...rule,
    verbs: ["create"],
    resources: [{ group: "", resources: ["configmaps"], resourceNames: [] }],
  })),
};

/** A path that takes no byte; undefined: this host has none. */
function fullDisk(name: string): string | undefined {
  const path = join(directory, name);
  try {
    symlinkSync("/dev/full", path);
    return path;
  } catch {
    return undefined;
  }
}
