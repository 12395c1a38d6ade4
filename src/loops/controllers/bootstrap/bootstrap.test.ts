/** Bootstrap tokens: what they sign, and that ended ones go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigMap, Secret } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { signDetached } from "#auth/cluster-info-signature.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, type World } from "../testing/world.ts";
import { BootstrapSigner } from "./signer.ts";
import { TokenCleaner } from "./token-cleaner.ts";

function token(id: string, more: Readonly<Record<string, string>> = {}, name = id): Secret {
  const values: Readonly<Record<string, string>> = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-signing": "true",
    ...more,
  };
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "bootstrap.kubernetes.io/token",
    metadata: { name: `bootstrap-token-${name}`, namespace: "kube-system", uid: id },
    data,
  };
}

function clusterInfo(data: Readonly<Record<string, string>>): ConfigMap {
  const metadata = { name: "cluster-info", namespace: "kube-public" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function keys(world: World): readonly string[] {
  const map = world.api.peek<ConfigMap>(refs.configmaps, "kube-public", "cluster-info");
  return Object.keys(map?.data ?? {}).toSorted();
}

async function signing(...objects: readonly (Secret | ConfigMap)[]): Promise<World> {
  const world = createWorld();
  for (const object of objects) {
    world.api.put(object.kind === "Secret" ? refs.secrets : refs.configmaps, object);
  }
  await world.start((deps) => new BootstrapSigner(deps, signDetached));
  return world;
}

test("cluster-info carries a signature of each token that may sign, and no other", async () => {
  const world = await signing(
    token("aaaaaa"),
    token("bbbbbb", { "usage-bootstrap-signing": "false" }),
    token("cccccc", { "usage-bootstrap-signing": "TRUE" }),
    token("dddddd", { "token-secret": "" }),
    token("eeeeee", { "token-id": "ffffff" }),
    token("gggggg", { expiration: "2001-01-01T00:00:00Z" }),
    token("hhhhhh", { expiration: "no time" }),
    token("iiiiii", {}, "iiiiii7"),
    clusterInfo({ kubeconfig: "k", other: "o", "jws-kubeconfig-old": "left over" }),
  );
  assert.deepEqual(keys(world), ["jws-kubeconfig-aaaaaa", "kubeconfig", "other"]);
  assert.deepEqual(world.writes(), ["update configmaps kube-public/cluster-info"]);
  world.forgetCalls();
  world.api.put(refs.secrets, token("jjjjjj"));
  await world.rest();
  assert.deepEqual(keys(world).length, 4);
  await world.api.delete(refs.secrets, "kube-system", "bootstrap-token-aaaaaa");
  await world.rest();
  assert.deepEqual(keys(world), ["jws-kubeconfig-jjjjjj", "kubeconfig", "other"]);
  await world.stop();
});

test("a kubeconfig that changes is signed anew; without one nothing is written", async () => {
  const world = await signing(token("aaaaaa"), clusterInfo({ kubeconfig: "k" }));
  const signature = (): string | undefined =>
    world.api.peek<ConfigMap>(refs.configmaps, "kube-public", "cluster-info")?.data?.[
      "jws-kubeconfig-aaaaaa"
    ];
  assert.equal(signature(), signDetached("k", "aaaaaa", "0123456789abcdef"));
  const stale = signature() ?? "";
  world.api.put(
    refs.configmaps,
    clusterInfo({ kubeconfig: "hostile", "jws-kubeconfig-aaaaaa": stale }),
  );
  await world.rest();
  assert.equal(signature(), signDetached("hostile", "aaaaaa", "0123456789abcdef"));
  world.forgetCalls();
  world.api.put(refs.configmaps, clusterInfo({ other: "o" }));
  await world.rest();
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a token's signature goes when the token ends", async () => {
  const world = createWorld();
  const expiration = formatTime(world.clock.nowMs() + 60_000);
  world.api.put(refs.secrets, token("aaaaaa", { expiration }));
  world.api.put(refs.configmaps, clusterInfo({ kubeconfig: "k" }));
  await world.start((deps) => new BootstrapSigner(deps, signDetached));
  assert.deepEqual(keys(world), ["jws-kubeconfig-aaaaaa", "kubeconfig"]);
  await world.advance(61_000);
  assert.deepEqual(keys(world), ["kubeconfig"]);
  await world.stop();
});

test("tokens are deleted when they end, or when nobody can read when they do", async () => {
  const world = createWorld();
  const inMinutes = (minutes: number): string => formatTime(world.clock.nowMs() + minutes * 60_000);
  const days = 24 * 60;
  world.api.put(refs.secrets, token("ended1", { expiration: "2001-01-01T00:00:00Z" }));
  world.api.put(refs.secrets, token("notime", { expiration: "2099" }));
  world.api.put(refs.secrets, token("forgood"));
  world.api.put(refs.secrets, token("minute", { expiration: inMinutes(1) }));
  world.api.put(refs.secrets, token("months", { expiration: inMinutes(60 * days) }));
  await world.start((deps) => new TokenCleaner(deps));
  const left = (): string =>
    names(world.api, refs.secrets).join(" ").replaceAll("bootstrap-token-", "");
  assert.equal(left(), "forgood minute months");
  await world.advance(60_000);
  assert.equal(left(), "forgood months");
  await world.advance(61 * days * 60_000);
  assert.equal(left(), "forgood");
  await world.stop();
});
