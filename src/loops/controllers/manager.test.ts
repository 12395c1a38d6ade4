/** All controllers over an in-memory API: their identities, and that they become idle. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "#client/client.ts";
import { Supervisor } from "#platform/supervisor.ts";
import { controllerRoles, createControllerManager, type ControllerManager } from "./manager.ts";
import { refs } from "./framework/refs.ts";
import { fakeAuthority } from "./testing/certificates.ts";
import { documents } from "./testing/discovery.ts";
import { createWorld } from "./testing/world.ts";

const options = {
  rootCa: "-----BEGIN CERTIFICATE-----",
  certificates: { authority: fakeAuthority().authority, lifetimeMostMs: 3_600_000 },
  signDetached: () => "",
  *checkPolicyTypes() {
    yield;
    return [];
  },
};

/** Accounts are asked for as the loops are made. */
function managerIn(
  world: ReturnType<typeof createWorld>,
  controllers: readonly string[] = ["*"],
): {
  readonly manager: ControllerManager;
  readonly accounts: ReadonlySet<string>;
  start(): Promise<void>;
} {
  const accounts = new Set<string>();
  let manager: ControllerManager | undefined;
  return {
    accounts,
    get manager() {
      assert.ok(manager !== undefined);
      return manager;
    },
    start: () =>
      world.start((deps) => {
        const clientFor = (account: string): Client => {
          accounts.add(account);
          return world.api;
        };
        const onBug = (bug: Error): void => assert.fail(bug);
        const supervisor = new Supervisor({ ...deps, onBug });
        const made = createControllerManager(
          { ...deps, clientFor, supervisor },
          { ...options, controllers },
        );
        manager = made;
        return {
          name: "all",
          metrics: () => [...made.metrics().values()][0]!,
          run: (signal) => made.run(signal),
        };
      }),
  };
}

/** As --controllers of kube-controller-manager 1.36 lists them, without those that nothing here answers to. */
const upstreamNames =
  `bootstrap-signer certificatesigningrequest-approving certificatesigningrequest-cleaner
  certificatesigningrequest-signing clusterrole-aggregation cronjob daemonset deployment device-taint-eviction disruption endpointslice
  endpointslice-mirroring ephemeral-volume garbage-collector horizontal-pod-autoscaler job
  legacy-serviceaccount-token-cleaner namespace node-lifecycle
  persistentvolume-attach-detach persistentvolume-binder persistentvolume-expander persistentvolume-protection
  persistentvolumeclaim-protection pod-garbage-collector replicaset replicationcontroller resourceclaim resourcequota
  root-ca-certificate-publisher service-cidr serviceaccount statefulset taint-eviction token-cleaner
  ttl ttl-after-finished validatingadmissionpolicy-status volumeattributesclass-protection`
    .split(/\s+/)
    .map((name) => `${name}-controller`);

/** Of controllers that upstream lacks (`notUpstream` in their role). */
const ownNames: readonly string[] = [];
const allNames = [...upstreamNames, ...ownNames];

test("every loop can be chosen by upstream's name, and left out by it", async () => {
  const sizes: number[] = [];
  const off = allNames.map((name) => `-${name}`);
  for (const chosen of [["*"], allNames, ["*", ...off, "deployment"], ["*", ...off.slice(1)]]) {
    const world = createWorld(documents);
    const all = managerIn(world, chosen);
    await all.start();
    sizes.push(all.manager.metrics().size);
    await world.stop();
  }
  assert.deepEqual(sizes, [allNames.length, allNames.length, 0, 1]);
});

test("every loop has a name of its own, and every account a role", async () => {
  const world = createWorld(documents);
  const all = managerIn(world);
  await all.start();
  const roles = controllerRoles.map((role) => role.account);
  const ofNamespaces = ["bootstrap-signer", "token-cleaner"];
  assert.deepEqual([...all.accounts].sort(), [...roles, ...ofNamespaces].toSorted());
  const names = [...all.manager.metrics().keys()];
  assert.equal(names.length, allNames.length);
  await world.stop();
});

test("over an empty API nothing is written, and all come to rest and stop", async () => {
  const world = createWorld(documents);
  const all = managerIn(world);
  await all.start();
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  for (const [name, { waiting, working }] of all.manager.metrics())
    assert.deepEqual([name, waiting, working], [name, 0, 0]);
  await world.stop();
});

test("the process decides a controller's workers by its name, and observes its queue", async () => {
  const world = createWorld(documents);
  const name = "serviceaccount-controller";
  for (const namespace of ["a", "b", "c"])
    world.api.put(refs.namespaces, { metadata: { name: namespace } });
  const created = Promise.withResolvers<never>();
  const observed: string[] = [];
  const observe = (queue: string) => {
    const hear = (what: string) => (): void => void observed.push(`${queue} ${what}`);
    const [added, taken] = [hear("added"), hear("taken")];
    return { added, taken, done: () => {}, retried: () => {} };
  };
  let working: number | undefined;
  await world.start((deps) => {
    const client: Client = Object.assign(Object.create(world.api), {
      create: () => created.promise,
    });
    const supervisor = new Supervisor({ ...deps, onBug: (bug) => assert.fail(bug) });
    const manager = createControllerManager(
      { ...deps, clientFor: () => client, supervisor, observe },
      { ...options, controllers: [name], workers: new Map([[name, 2]]) },
    );
    const run = manager.run.bind(manager);
    return {
      async run(signal) {
        signal.addEventListener("abort", () => {
          working = manager.metrics().get(name)?.working;
          created.reject(new Error("stopped"));
        });
        await run(signal);
      },
    };
  });
  await world.stop();
  assert.equal(working, 2);
  const [added, taken] = [`${name} added`, `${name} taken`];
  assert.deepEqual(observed, [added, added, added, taken, taken]);
});
