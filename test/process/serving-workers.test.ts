/**
 * `pilothouse apiserver --serving-workers`: the same promises with one thread and with three, over connections that the
 * kernel spreads; and threads that end, or stand still, under a crowd that writes and watches.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pause, runCrowd } from "./api-crowd.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import type { Json, KubeHttp } from "./kube-http.ts";
import { type ServingThreads, startServingThreads } from "./serving-threads.ts";
import type { Fault } from "./thread-faults.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const connectionsMax = 8;
const patientMs = 120_000;
/** ADR 64 has the circumstances of the abort. */
const unlessStanding =
  process.env["PILOTHOUSE_STANDING_THREADS"] === undefined &&
  "Node 26 may abort a process that terminates a thread with open HTTP/2 connections; PILOTHOUSE_STANDING_THREADS=1 runs it";

function configMap(name: string, n = 0): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { n: String(n) } };
}

async function until(
  reached: () => boolean | Promise<boolean>,
  what: string | (() => string),
): Promise<void> {
  const end = performance.now() + patientMs;
  while (!(await reached())) {
    if (performance.now() > end) assert.fail(typeof what === "string" ? what : what());
    await pause(25);
  }
}

for (const count of [0, 1, 3]) {
  void describe(`an API server with --serving-workers ${count}`, { timeout: 300_000 }, () => {
    const scratch = temporaryDirectory("serving-workers");
    const auditLog = join(scratch, "audit.log");
    let server: ServingThreads;
    let clients: readonly KubeHttp[] = [];

    before(async () => {
      server = await startServingThreads(count, "--audit-log", auditLog);
      clients = Array.from({ length: connectionsMax }, () => server.connect());
    });
    after(async () => {
      clients.forEach((client) => client.close());
      await server?.stop();
      removeDirectory(scratch);
    });
    const client = (at: number): KubeHttp => clients[at % connectionsMax] as KubeHttp;

    void it("has as many threads as were asked for", () => {
      assert.equal(server.born.length, count <= 1 ? 0 : count);
    });

    void it("shows a write on every other connection as soon as it was answered", async () => {
      await client(0).request("POST", configMaps, configMap("shared"));
      for (let round = 1; round <= 20; round++) {
        const written = await client(round).request(
          "PUT",
          `${configMaps}/shared`,
          configMap("shared", round),
        );
        assert.equal(written.status, 200, JSON.stringify(written.body));
        const others = clients.map(async (other, at) => {
          const path = at % 2 === 0 ? `${configMaps}/shared` : configMaps;
          const { body } = await other.request("GET", path);
          const items = (body["items"] ?? [body]) as unknown as readonly Json[];
          const shown = items.find(({ metadata }) => metadata?.["name"] === "shared");
          assert.equal(shown?.["data"]?.["n"], String(round));
        });
        await Promise.all(others);
      }
    });

    void it("lets one of many writers win each revision, and tells every watcher the same in the same order", async () => {
      const first = await client(0).request("GET", configMaps);
      const from = String(first.body["metadata"]?.["resourceVersion"]);
      const seen = clients.map(() => [] as string[]);
      const watching = clients.map((_, at) => {
        const own = server.connect();
        const path = `${configMaps}?watch=true&resourceVersion=${from}`;
        void own.watch(path, ({ type, object }) => {
          const { name, resourceVersion } = object["metadata"] as unknown as Readonly<
            Record<string, string>
          >;
          seen[at]?.push(`${type} ${name} ${resourceVersion}`);
        });
        return own;
      });
      await client(1).request("POST", configMaps, configMap("counter"));
      const add = async (at: number): Promise<void> => {
        for (let done = 0; done < 5;) {
          const { body } = await client(at).request("GET", `${configMaps}/counter`);
          const n = Number(body["data"]?.["n"]);
          const next = { ...body, data: { n: String(n + 1) } };
          const answer = await client(at + 1).request("PUT", `${configMaps}/counter`, next);
          if (answer.status === 200) done++;
          else assert.equal(answer.status, 409);
        }
      };
      await Promise.all([0, 1, 2, 3, 4, 5].map(add));
      const last = await client(2).request("GET", `${configMaps}/counter`);
      assert.equal(last.body["data"]?.["n"], "30", "no increment is lost");
      await client(3).request("DELETE", `${configMaps}/counter`);
      const isDone = (one: readonly string[]): boolean =>
        one.at(-1)?.startsWith("DELETED") === true;
      await until(() => seen.every(isDone), "every watcher hears of the deletion");
      assert.equal(seen[0]?.length, 32);
      for (const one of seen) assert.deepEqual(one, seen[0]);
      watching.forEach((one) => one.close());
    });

    void it("holds a quota, and gives each Service its own address and port", async () => {
      const quota = {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "few", namespace: "default" },
        spec: { hard: { "count/secrets": "7" } },
      };
      await client(0).request("POST", "/api/v1/namespaces/default/resourcequotas", quota);
      await fillQuotaStatus(client(0));
      const secrets = await Promise.all(
        Array.from({ length: 24 }, (_, at) =>
          client(at).request("POST", "/api/v1/namespaces/default/secrets", {
            apiVersion: "v1",
            kind: "Secret",
            metadata: { name: `s-${at}` },
          }),
        ),
      );
      const statuses = secrets.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 201).length, 7, statuses.join(" "));
      const services = await Promise.all(
        Array.from({ length: 24 }, (_, at) =>
          client(at).request("POST", "/api/v1/namespaces/default/services", {
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: `service-${at}` },
            spec: { type: "NodePort", ports: [{ port: 80 }] },
          }),
        ),
      );
      for (const { status, body } of services) assert.equal(status, 201, JSON.stringify(body));
      const specs = services.map(({ body }) => body["spec"] as unknown as Json);
      assert.equal(new Set(specs.map((spec) => spec["clusterIP"])).size, 24);
      const portOf = ({ ports }: Json): unknown => ports?.[0]?.["nodePort"];
      assert.equal(new Set(specs.map(portOf)).size, 24);
    });

    void it("has the seats of one server in sum, and one page of metrics", async () => {
      const { body } = await client(0).request("GET", "/metrics");
      const text = String(body["text"]);
      const seats = (level: string): number =>
        Number(
          new RegExp(
            `^apiserver_flowcontrol_nominal_limit_seats\\{priority_level="${level}"\\} (\\d+)`,
            "m",
          ).exec(text)?.[1],
        );
      assert.deepEqual(
        ["system", "leader-election", "workload-high", "workload-low", "catch-all"].map(seats),
        [74, 25, 98, 245, 13],
      );
      const helps = text.match(/^# HELP apiserver_request_total /gm) ?? [];
      assert.equal(helps.length, 1);
      const puts = [
        ...text.matchAll(
          /^apiserver_request_total\{verb="PUT".*resource="configmaps".*code="200"\} (\d+)/gm,
        ),
      ];
      const total = puts.reduce((sum, [, value]) => sum + Number(value), 0);
      assert.ok(total >= 50, `${total} updates are counted`);
      assert.match(text, /^apiserver_storage_objects\{resource="services"\} 25$/m);
    });

    void it("keeps one audit log, with each answer once, whole", async () => {
      const names = Array.from({ length: 60 }, (_, at) => `audited-${at}`);
      await Promise.all(
        names.map((name, at) => client(at).request("POST", configMaps, configMap(name))),
      );
      const linesOf = (): readonly Json[] =>
        readFileSync(auditLog, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Json);
      const ends = (): readonly string[] =>
        linesOf()
          .filter(
            ({ stage, verb }) => String(stage) === "ResponseComplete" && String(verb) === "create",
          )
          .map(({ objectRef }) => String(objectRef?.["name"]))
          .filter((name) => name.startsWith("audited-"));
      await until(() => ends().length >= names.length, "the log has all of them");
      assert.deepEqual(ends().toSorted(), names.toSorted());
    });

    void it("is ready at every connection", async () => {
      for (const one of clients) assert.equal((await one.request("GET", "/readyz")).status, 200);
    });
  });
}

/** As the controller, which does not run here, would begin it. */
async function fillQuotaStatus(client: KubeHttp): Promise<void> {
  const path = "/api/v1/namespaces/default/resourcequotas/few";
  const { body } = await client.request("GET", path);
  const status = { hard: { "count/secrets": "7" }, used: { "count/secrets": "0" } };
  await client.request("PUT", `${path}/status`, { ...body, status });
}

void describe("serving threads that go", { timeout: 600_000 }, () => {
  let server: ServingThreads;
  before(async () => {
    server = await startServingThreads(3);
  });
  after(async () => {
    assert.equal(await server?.stop(), 0, "the process outlives its threads, and stops in order");
  });

  void it("lose no acknowledged write, tell each once, cause no list, and are replaced", async () => {
    await runCrowd(
      [server, server, server],
      async () => {
        // Each of the first threads ends once: every watcher is cut.
        for (const thread of server.born.slice(0, 3)) {
          await pause(300);
          await replaced(server, thread, "bug");
        }
      },
      20,
    );
  });

  void it(
    "are ended when they stand still, and others are served meanwhile",
    { skip: unlessStanding },
    async () => {
      let isReplaced = false;
      const replacing = replaced(server, server.born.at(-1) ?? 0, "stand").then(() => {
        isReplaced = true;
      });
      let served = 0;
      while (!isReplaced) {
        const client = server.connect();
        const answer = client.request("GET", configMaps).then(
          ({ status }) => status,
          () => 0,
        );
        const late = pause(2_000).then(() => 0);
        if ((await Promise.race([answer, late])) === 200) served++;
        client.close();
      }
      await replacing;
      assert.ok(served > 0, "the other threads serve");
      assert.match(server.output(), /stands still and is ended/);
      const client = server.connect();
      await until(
        async () => (await client.request("GET", "/readyz")).status === 200,
        "it is ready again",
      );
      client.close();
    },
  );
});

/** Resolves when another thread has begun in the place of `thread`. */
async function replaced(server: ServingThreads, thread: number, fault: Fault): Promise<void> {
  const before = server.served();
  server.send(thread, fault);
  await until(
    () => server.served() > before,
    () => `no other thread came: ${server.output()}`,
  );
}
