/**
 * API servers on one stock etcd: two of ours, and one of ours beside a stock kube-apiserver. What either writes the
 * other reads at once and exactly, and a watch that began at one goes on at the other.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ConfigMap, Service } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { ApiError } from "#api/status.ts";
import type { Client, WatchedEvent } from "#client/client.ts";
import { EtcdClient } from "#etcd/client.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer, noStock, stockPrograms } from "./peers.ts";
import { type Asking, clientOf, type RunningRole, startRole, until } from "./role-harness.ts";
import { startApiServer, type StockApiServer } from "./stock-apiserver.ts";

const maps = { group: "", version: "v1", resource: "configmaps" };
const services = { group: "", version: "v1", resource: "services" };
const etcdProgram = findPeer("etcd");
const stockProgram = stockPrograms()?.apiserver;

function configMap(name: string, data: Readonly<Record<string, string>>): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}

function service(name: string, port: object = {}): Service {
  const spec = { type: "NodePort", selector: { a: "b" }, ports: [{ port: 80, ...port }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace: "default" }, spec };
}

void describe(
  "API servers on one etcd",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 240_000 },
  () => {
    const directory = temporaryDirectory("stock-etcd");
    const running: RunningRole[] = [];
    const asking: Asking[] = [];
    let etcd: TestServer;

    async function start(name: string, more: readonly string[] = []): Promise<Client> {
      const data = join(directory, name);
      const args = [
        "apiserver",
        "--data-dir",
        data,
        "--secure-port",
        "0",
        "--etcd-servers",
        etcd.url,
        ...more,
      ];
      running.push(await startRole(args));
      const one = await clientOf(join(data, "kubeconfig"));
      asking.push(one);
      return one.client;
    }

    let a: Client;
    let b: Client;
    before(async () => {
      etcd = await startEtcd(etcdProgram ?? "");
      a = await start("a");
      b = await start("b");
    });
    after(async () => {
      for (const one of asking) one.close();
      await Promise.allSettled(running.map((role) => role.kill()));
      await etcd?.close();
      removeDirectory(directory);
    });

    it("keep objects under kube-apiserver's keys, in its encoding", async () => {
      await a.create(maps, "default", configMap("kept", { a: "b" }));
      const client = new EtcdClient(etcd.url);
      const { kvs } = await client.range({ key: "/registry/configmaps/default/kept" });
      const definitions = await client.range({
        key: "/registry/apiregistration.k8s.io/apiservices/v1.",
      });
      client.close();
      assert.equal(
        Buffer.from(kvs[0]?.value ?? [])
          .subarray(0, 4)
          .toString("latin1"),
        "k8s\0",
      );
      assert.equal(definitions.kvs[0]?.value[0], 0x7b, "APIServices are JSON there");
    });

    it("read what the other wrote, as soon as the write was answered", async () => {
      for (let one = 0; one < 50; one++) {
        const name = `seen-${one}`;
        const made = await a.create<ConfigMap>(maps, "default", configMap(name, {}));
        const seen = await b.get<ConfigMap>(maps, "default", name);
        assert.deepEqual(seen, made);
        await b.delete(maps, "default", name);
        await assert.rejects(
          a.get(maps, "default", name),
          (error) => error instanceof ApiError && error.code === 404,
        );
      }
    });

    it("lose no increment of two writers", async () => {
      await a.create(maps, "default", configMap("count", { n: "0" }));
      const increment = async (client: Client): Promise<void> => {
        for (;;) {
          const current = await client.get<ConfigMap>(maps, "default", "count");
          const n = String(Number(current.data?.["n"]) + 1);
          try {
            await client.update(maps, "default", { ...current, data: { n } });
            return;
          } catch (error) {
            if (!(error instanceof ApiError) || error.code !== 409) throw error;
          }
        }
      };
      const writers = [a, b].map(async (client) => {
        for (let one = 0; one < 100; one++) await increment(client);
      });
      await Promise.all(writers);
      assert.equal((await b.get<ConfigMap>(maps, "default", "count")).data?.["n"], "200");
    });

    it("go on with a watch that began at the other", async () => {
      const { metadata } = await a.list(maps, { namespace: "default" });
      for (let one = 0; one < 20; one++) {
        await (one % 2 === 0 ? a : b).create(maps, "default", configMap(`watched-${one}`, {}));
      }
      const seen: string[] = [];
      const stop = new AbortController();
      const watching = b.watch<ConfigMap>(
        maps,
        {
          namespace: "default",
          resourceVersion: metadata.resourceVersion ?? "",
          signal: stop.signal,
        },
        (events) => seen.push(...events.map(({ object }) => object.metadata?.name ?? "")),
      );
      await until("twenty events", () => Promise.resolve(seen.length >= 20 || undefined));
      stop.abort();
      await watching;
      assert.deepEqual(
        seen,
        Array.from({ length: 20 }, (_, one) => `watched-${one}`),
      );
    });

    it("find everything again after a restart, and write nothing anew", async () => {
      const before = await a.list<ConfigMap>(maps, { namespace: "default" });
      const again = await start("c");
      const after = await again.list<ConfigMap>(maps, { namespace: "default" });
      assert.deepEqual(after.items, before.items);
      const roles = { group: "rbac.authorization.k8s.io", version: "v1", resource: "clusterroles" };
      const versions = (list: {
        readonly items: readonly AnyObject[];
      }): readonly (string | undefined)[] =>
        list.items.map(({ metadata }) => metadata?.resourceVersion);
      assert.deepEqual(versions(await again.list(roles, {})), versions(await a.list(roles, {})));
    });

    it("refuse a cluster whose values are encrypted at rest, instead of hiding them", async () => {
      const key = "/encrypted/secrets/default/a";
      const client = new EtcdClient(etcd.url);
      await client.put({ key, value: Buffer.from("k8s:enc:aescbc:v1:key1:x") });
      client.close();
      const args = [
        "--secure-port",
        "0",
        "--etcd-servers",
        etcd.url,
        "--etcd-prefix",
        "/encrypted",
      ];
      const started = startRole(["apiserver", "--data-dir", join(directory, "e"), ...args]);
      const refusal =
        /a is encrypted at rest: --encryption-provider-config names the keys that open it/;
      await assert.rejects(started, refusal);
    });

    void describe(
      "beside a stock kube-apiserver",
      { skip: stockProgram === undefined ? noStock : false },
      () => {
        let stock: StockApiServer;

        before(async () => {
          stock = await startApiServer(stockProgram ?? "", directory, [
            `--etcd-servers=${etcd.url}`,
          ]);
        });
        after(() => stock?.stop());

        it("every kind is listed alike", async () => {
          const different: string[] = [];
          for (const { group, version, resource } of builtinResources()) {
            // Of the process that is asked; and Go writes times that are not set as null, we leave them out.
            if (resource === "componentstatuses" || resource === "events") continue;
            const path = `${group === "" ? "/api" : `/apis/${group}`}/${version}/${resource}`;
            const there = await stock.request("GET", path);
            if (there.status !== 200) continue;
            const here = (await a.raw(path)) as { readonly items: unknown };
            const theirs = there.body as unknown as { readonly items: unknown };
            if (text(here.items) !== text(theirs.items)) different.push(path);
          }
          assert.deepEqual(different, []);
        });

        it("2,000 random writes over both are told alike by both, event for event", async () => {
          const theirs = await clientOf(stock.kubeconfig);
          asking.push(theirs);
          const servers = [a, b, theirs.client] as const;
          const { metadata } = await a.list(maps, { namespace: "default" });
          const stop = new AbortController();
          const resourceVersion = metadata.resourceVersion ?? "";
          const told = servers.map(() => [] as string[]);
          const watching = servers.map((server, at) =>
            server.watch<ConfigMap>(
              maps,
              { namespace: "default", resourceVersion, signal: stop.signal },
              (events) => told[at]?.push(...events.map(eventText)),
            ),
          );
          const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
          const write = async (): Promise<void> => {
            const server = servers[random.below(servers.length)] ?? a;
            const name = `random-${random.below(40)}`;
            const data = { n: String(random.below(1_000_000)) };
            await writeOnce(server, name, data, random.below(3)).catch(isRace);
          };
          // Ten at a time: races are wanted.
          for (let round = 0; round < 200; round++)
            await Promise.all(Array.from({ length: 10 }, write));
          const last = await a.create<ConfigMap>(maps, "default", configMap("random-last", {}));
          const isDone = (texts: readonly string[]): boolean =>
            texts.at(-1)?.endsWith(`@${last.metadata?.resourceVersion}`) === true;
          await until("the last event everywhere", () =>
            Promise.resolve(told.every(isDone) || undefined),
          );
          stop.abort();
          await Promise.all(watching);
          const [first = [], ...others] = told;
          assert.ok(first.length > 500, `${first.length} events`);
          for (const one of others) assert.deepEqual(one, first);
        });

        it("either reads definitions and mutating policies that the other wrote", async () => {
          for (const [resource, theirs, ours] of storedOlder) {
            const path = `/apis/${resource.group}/${resource.version}/${resource.resource}`;
            const made = await stock.request("POST", path, theirs);
            assert.equal(made.status, 201, JSON.stringify(made.body));
            const seen = await a.get<AnyObject>(resource, "", theirs.metadata?.name ?? "");
            assert.equal(seen.apiVersion, theirs.apiVersion);
            assert.equal(text(seen["spec"]), text(made.body["spec"]));
            const own = await a.create<AnyObject>(resource, "", ours);
            const back = await stock.request("GET", `${path}/${ours.metadata?.name}`);
            assert.equal(text(back.body["spec"]), text(own["spec"]));
          }
        });

        it("no address and no node port is handed out twice, whoever hands it out", async () => {
          const path = "/api/v1/namespaces/default/services";
          const make = async (one: number): Promise<Service> => {
            const made = service(`shared-${one}`);
            if (one % 3 === 0) return a.create<Service>(services, "default", made);
            if (one % 3 === 1) return b.create<Service>(services, "default", made);
            const { status, body } = await stock.request("POST", path, made);
            assert.equal(status, 201, text(body));
            return body as unknown as Service;
          };
          // A stock server writes one port at a time.
          const made = await Promise.all(Array.from({ length: 90 }, (_, one) => make(one)));
          assert.equal(new Set(made.map(({ spec }) => spec?.clusterIP)).size, made.length);
          const ports = made.map(({ spec }) => spec?.ports?.[0]?.nodePort ?? 0);
          assert.equal(new Set(ports).size, made.length);
          await assert.rejects(
            a.create(services, "default", service("wants", { nodePort: ports[2] ?? 0 })),
            /provided port is already allocated/,
          );
          const wanted = service("wants", { nodePort: ports[0] ?? 0 });
          assert.equal((await stock.request("POST", path, wanted)).status, 422);
          for (const [one, { metadata, spec }] of made.entries()) {
            const name = metadata?.name ?? "";
            if (one % 2 === 0) await stock.request("DELETE", `${path}/${name}`);
            else await a.delete(services, "default", name);
            const ip = `/apis/networking.k8s.io/v1/ipaddresses/${spec?.clusterIP}`;
            assert.equal((await stock.request("GET", ip)).status, 404, `${name} gave ${ip} back`);
          }
          const again = service("wants", { nodePort: ports[0] ?? 0 });
          await a.create(services, "default", again);
        });

        it("Endpoints kubernetes lists all of them, and no longer one that stopped", async () => {
          const path = "/api/v1/namespaces/default/endpoints/kubernetes";
          const has = async (ips: readonly string[], gone: readonly string[]) => {
            const found = text((await stock.request("GET", path)).body);
            const isTrue = (ip: string): boolean => found.includes(`"ip":"${ip}"`);
            return ips.every(isTrue) && !gone.some(isTrue) ? true : undefined;
          };
          await start("f", ["--advertise-address", "192.0.2.61"]);
          await start("g", ["--advertise-address", "192.0.2.62"]);
          const [killed, stopped] = running.slice(-2);
          await until("both of ours", () => has(["192.0.2.61", "192.0.2.62"], []));
          await stopped?.stop();
          assert.equal(await has(["192.0.2.61"], ["192.0.2.62"]), true, "gone when it has stopped");
          await killed?.kill();
          await until("the killed one is out", () => has([], ["192.0.2.61"]));
        });

        it("either reads and updates what the other wrote", async () => {
          const path = "/api/v1/namespaces/default/configmaps";
          const made = await stock.request("POST", path, configMap("theirs", { a: "b" }));
          assert.equal(made.status, 201);
          const seen = await a.get<ConfigMap>(maps, "default", "theirs");
          assert.equal(text(seen), text(made.body));
          const updated = await a.update<ConfigMap>(maps, "default", { ...seen, data: { a: "c" } });
          const back = await stock.request("GET", `${path}/theirs`);
          assert.equal(text(back.body), text(updated));
        });
      },
    );
  },
);

function widgets(plural: string): AnyObject {
  const column = (jsonPath: string) => ({ name: "Size", type: "integer", jsonPath });
  const properties = { spec: { type: "object", properties: { size: { type: "integer" } } } };
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: { status: {} },
    additionalPrinterColumns: [column(".spec.size")],
  });
  const webhook = {
    conversionReviewVersions: ["v1"],
    clientConfig: { url: "https://127.0.0.1:1/convert" },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural, singular: plural, kind: plural, listKind: `${plural}List` },
      versions: [version("v1"), version("v1beta1")],
      conversion: { strategy: "Webhook", webhook },
    },
  };
}

function mutatingPolicy(name: string): AnyObject {
  const expression = 'Object{metadata: Object.metadata{labels: {"a": "b"}}}';
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicy",
    metadata: { name },
    spec: {
      reinvocationPolicy: "Never",
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] },
        ],
      },
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
    },
  };
}

/** Kinds that stock stores in v1beta1: what it is given, and what ours is. */
const storedOlder = [
  [
    { group: "apiextensions.k8s.io", version: "v1", resource: "customresourcedefinitions" },
    widgets("theirs"),
    widgets("ours"),
  ],
  [
    {
      group: "admissionregistration.k8s.io",
      version: "v1",
      resource: "mutatingadmissionpolicies",
    },
    mutatingPolicy("theirs"),
    mutatingPolicy("ours"),
  ],
] as const;

function eventText({ type, object }: WatchedEvent<ConfigMap>): string {
  const { name, resourceVersion } = object.metadata ?? {};
  return `${type} ${name} ${JSON.stringify(object.data)} @${resourceVersion}`;
}

async function writeOnce(
  server: Client,
  name: string,
  data: Readonly<Record<string, string>>,
  choice: number,
): Promise<void> {
  if (choice === 0) await server.create(maps, "default", configMap(name, data));
  else if (choice === 1) await server.patch(maps, "default", name, "merge", { data });
  else await server.delete(maps, "default", name);
}

/** What a writer meets that was not the first. */
function isRace(error: unknown): void {
  if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
}

/** With fields in one order. */
function text(value: unknown): string {
  const sorted = (_: string, one: unknown): unknown =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([x], [y]) => (x < y ? -1 : 1)))
      : one;
  return JSON.stringify(value, sorted);
}
