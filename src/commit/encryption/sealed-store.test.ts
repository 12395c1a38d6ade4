/** What the store below holds is sealed, what the registry reads is not; rotation by rewriting; values that do not open. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { configMap, openRegistry, outcome, plainWrite, put } from "#registry/testing/fixture.ts";
import { openMemoryStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Key } from "#store/store.ts";
import { readConfiguration } from "./configuration.ts";
import { SealedStore } from "./sealed-store.ts";
import { Transformers } from "./transformers.ts";

const secretOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64");
const provider = (kind: string, ...names: readonly string[]): object => ({
  [kind]: { keys: names.map((name) => ({ name, secret: secretOf(name.charCodeAt(0)) })) },
});
const identity = { identity: {} };
const configuration = (...providers: readonly object[]) =>
  readConfiguration({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources: ["configmaps"], providers }],
  });
const at = (name: string): Key => `/registry/core/configmaps/default/${name}` as Key;

async function start(...providers: readonly object[]) {
  const deps = { clock: new FakeClock(), random: new FakeRandom(7) };
  const below = await openMemoryStore({ ...deps, log: silentLog }, recommendedOptions);
  const transformers = new Transformers(configuration(...providers));
  const open = async () => {
    const store = await SealedStore.open({ store: below, atRest: transformers, log: silentLog });
    return openRegistry({ ...deps, store });
  };
  const { registry, resource } = await open();
  await registry.ready();
  const stored = (name: string): string => {
    const found = below.get(at(name));
    return found.kind === "found" ? Buffer.from(found.kv.value).toString("latin1") : found.kind;
  };
  return { below, transformers, maps: resource("configmaps"), registry, stored, open };
}

test("what is stored begins with its provider and key, and is read as it was written", async () => {
  for (const kind of ["aesgcm", "aescbc", "secretbox"]) {
    const { maps, registry, stored, open } = await start(provider(kind, "a"));
    await maps.create("default", configMap("m", { data: { p: "in-the-clear" } }), plainWrite);
    assert.ok(stored("m").startsWith(`k8s:enc:${kind}:v1:a:`));
    assert.doesNotMatch(stored("m"), /in-the-clear/);
    const again = await open();
    await again.registry.ready();
    const { object } = await again.resource("configmaps").get("default", "m", {});
    assert.deepEqual(object["data"], { p: "in-the-clear" });
    await again.registry.close();
    await registry.close();
  }
});

test("an update that changes nothing writes a stale value again, and no other", async () => {
  const { maps, registry, transformers, stored } = await start(identity);
  await maps.create("default", configMap("m"), plainWrite);
  assert.ok(stored("m").startsWith("{"));
  const same = (): Promise<unknown> => put(maps, "default/m", (current) => current);
  for (const [providers, prefix] of [
    [[provider("aescbc", "a"), identity], "k8s:enc:aescbc:v1:a:"],
    [[provider("aescbc", "b", "a"), identity], "k8s:enc:aescbc:v1:b:"],
    [[provider("aesgcm", "c"), provider("aescbc", "b")], "k8s:enc:aesgcm:v1:c:"],
    [[identity, provider("aesgcm", "c")], "{"],
  ] as const) {
    transformers.replace(configuration(...providers));
    await same();
    assert.ok(stored("m").startsWith(prefix), stored("m").slice(0, 30));
    const settled = stored("m");
    await same();
    assert.equal(stored("m"), settled, "it is not stale any more");
  }
  await registry.close();
});

test("a ciphertext that is moved to another key, cut or changed opens for nobody, and is not overwritten", async () => {
  const { below, maps, registry, open } = await start(provider("aesgcm", "a"));
  await maps.create("default", configMap("m", { data: { p: "q" } }), plainWrite);
  const found = below.get(at("m"));
  assert.equal(found.kind, "found");
  const { value } = found.kv;
  const changed = Uint8Array.from(value);
  changed[value.length - 1] = (changed[value.length - 1] ?? 0) ^ 1;
  const values = { moved: value, cut: value.subarray(0, 30), changed };
  for (const [name, one] of Object.entries(values)) await below.put(at(name), one, {});
  const again = await open();
  await again.registry.ready();
  const there = again.resource("configmaps");
  const { items } = await there.list("default", {});
  assert.deepEqual(
    items.map(({ name }) => name),
    ["m"],
  );
  for (const name of Object.keys(values)) {
    const why = await outcome(there.create("default", configMap(name), plainWrite));
    assert.match(why, /^500 InternalError: .*cannot be decrypted/);
  }
  await again.registry.close();
  await registry.close();
});

test("a key that is not configured any more hides its values, and they come back with it", async () => {
  const { maps, registry, transformers, open } = await start(provider("aesgcm", "a"));
  await maps.create("default", configMap("m"), plainWrite);
  const names = async (): Promise<readonly string[]> => {
    const again = await open();
    await again.registry.ready();
    const { items } = await again.resource("configmaps").list("default", {});
    await again.registry.close();
    return items.map(({ name }) => name);
  };
  transformers.replace(configuration(provider("aesgcm", "b")));
  assert.deepEqual(await names(), []);
  transformers.replace(configuration(provider("aesgcm", "b", "a")));
  assert.deepEqual(await names(), ["m"]);
  await registry.close();
});
