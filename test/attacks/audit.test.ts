/** The audit trail tells all, and whatever its sink does, no request and no process ends by it. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { connect } from "node:tls";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openAuditFile } from "#cmd/shared/audit-file.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { silentLog } from "#platform/log.ts";
import type { AuditLine, AuditSink } from "#server/audit.ts";
import { requestInfo } from "#server/request-info.ts";
import { fetchWith } from "../process/fetch-with.ts";
import { pilothouse, removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { keptLog, type PromisedPlane, startPromised } from "./promised-plane.ts";

const directory = temporaryDirectory("audit");
after(() => removeDirectory(directory));
const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (metadata: object): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata });

interface Kept extends AuditSink {
  readonly lines: AuditLine[];
}

function keptLines(): Kept {
  const lines: AuditLine[] = [];
  return { lines, write: (line) => lines.push(line) > 0 };
}

async function withPlane(
  sink: AuditSink,
  f: (promised: PromisedPlane) => Promise<void>,
): Promise<void> {
  const promised = await startPromised({ audit: sink });
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
    const sink: AuditSink = {
      write() {
        throw new Error("no space left on device");
      },
    };
    const promised = await startPromised({ audit: sink, log });
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

describe("what a line tells", () => {
  test("names what was created, generated names and bindings, too", async () => {
    const sink = keptLines();
    await withPlane(sink, async ({ ask }) => {
      await ask("POST", configMaps, { body: configMap({ name: "given" }) });
      const answer = await ask("POST", configMaps, { body: configMap({ generateName: "made-" }) });
      const generated = answer.json.metadata?.name ?? "";
      assert.match(generated, /^made-\w{5}$/);
      await ask("PUT", `${configMaps}/given`, { body: configMap({ name: "given" }) });
      const names = sink.lines
        .filter((line) => line.info.resource === "configmaps" && line.method !== "GET")
        .map((line) => [line.method, line.name, line.code]);
      assert.deepEqual(names.slice(-3), [
        ["POST", "given", 201],
        ["POST", generated, 201],
        ["PUT", "given", 200],
      ]);
    });
  });

  test("a request that the HTTP rim refuses has a line with address, target and reason", async () => {
    const sink = keptLines();
    await withPlane(sink, async ({ plane }) => {
      const { hostname, port } = new URL(plane.url);
      const status = await rawRequest(hostname, Number(port), "GET /api/%zz HTTP/1.1");
      assert.match(status, /^HTTP\/1\.1 400 /);
    });
    const line = sink.lines.find((one) => one.refused !== undefined);
    assert.ok(line !== undefined, "no line");
    assert.equal(line.code, 400);
    assert.equal(line.info.path, "/api/%zz");
    assert.equal(line.user, undefined);
    assert.equal(line.sourceAddress, "127.0.0.1");
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
  const line = (auditId: string): AuditLine =>
    ({
      auditId,
      info: requestInfo("GET", "/", new URLSearchParams()),
      query: "",
      userAgent: "",
    }) as AuditLine;
  const ids = (path: string): readonly string[] =>
    readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((text) => (JSON.parse(text) as AuditLine).auditId);

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
    const has = (file: string): boolean => readFileSync(file, "utf8").includes('"path":"/readyz"');
    assert.deepEqual([has(`${path}.1`), has(path)], [false, true]);
  });

  test("lines follow the path after a rotation and after a removal", async () => {
    const path = join(directory, "rotated.log");
    const file = await openAuditFile(host, path);
    file.write(line("1"), lost);
    await file.close();
    const again = await openAuditFile(host, path);
    renameSync(path, `${path}.1`);
    again.reopen();
    again.write(line("2"), lost);
    await again.close();
    const third = await openAuditFile(host, path);
    rmSync(path);
    third.reopen();
    third.write(line("3"), lost);
    await third.close();
    assert.deepEqual(ids(`${path}.1`), ["1"]);
    assert.deepEqual(ids(path), ["3"]);
  });

  test("what a full disk refuses waits within the buffer's limit, then is dropped and counted", async (t) => {
    const path = join(directory, "full.log");
    try {
      symlinkSync("/dev/full", path);
    } catch {
      return t.skip("no /dev/full on this host");
    }
    const { log, lines } = keptLog();
    const sink = await openAuditFile({ ...host, log }, path, 2_000);
    await withPlane(sink, async ({ ask }) => {
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
    await sink.close();
  });

  test("a flood without credentials costs no line of somebody, and is counted", async (t) => {
    const path = join(directory, "flood.log");
    try {
      symlinkSync("/dev/full", path);
    } catch {
      return t.skip("no /dev/full on this host");
    }
    const sink = await openAuditFile(host, path, 20_000);
    await withPlane(sink, async ({ plane, ask }) => {
      const long = `${configMaps}?${"x".repeat(30_000)}`;
      for (let index = 0; index < 30; index++)
        assert.equal((await fetchWith(plane.url, long, "")).status, 403);
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
    sink.reopen();
    await sink.close();
    const kept = readFileSync(path, "utf8");
    for (let index = 0; index < 9; index++) assert.ok(kept.includes(`"name":"kept${index}"`));
  });

  test("annotations of an admission policy reach the file", async () => {
    const path = join(directory, "annotated.log");
    const sink = await openAuditFile(host, path);
    sink.write({ ...line("1"), annotations: new Map([["a", "b"]]) }, lost);
    await sink.close();
    const [first = ""] = readFileSync(path, "utf8").split("\n");
    assert.deepEqual((JSON.parse(first) as { annotations: object }).annotations, { a: "b" });
  });

  test("lines that waited are written when the disk has room again", async (t) => {
    const path = join(directory, "again.log");
    try {
      symlinkSync("/dev/full", path);
    } catch {
      return t.skip("no /dev/full on this host");
    }
    const file = await openAuditFile(host, path);
    file.write(line("held"), lost);
    file.reopen();
    rmSync(path);
    file.write(line("after"), lost);
    await file.close();
    assert.deepEqual(ids(path), ["held", "after"]);
    assert.equal(file.problem?.(), undefined);
  });

  test("a folder that goes away costs lines, not the process", async () => {
    const folder = join(directory, "gone");
    mkdirSync(folder);
    const file = await openAuditFile(host, join(folder, "audit.log"));
    rmSync(folder, { recursive: true });
    file.reopen();
    file.write(line("lost"), lost);
    await file.close();
    assert.match(file.problem?.() ?? "", /cannot append/);
  });
});
