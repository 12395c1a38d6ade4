/** All controllers over an in-memory API: their identities, and that they become idle. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "#client/client.ts";
import { Supervisor } from "#platform/supervisor.ts";
import { controllerRoles, createControllerManager, type ControllerManager } from "./manager.ts";
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
function managerIn(world: ReturnType<typeof createWorld>): {
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
        const made = createControllerManager({ ...deps, clientFor, supervisor }, options);
        manager = made;
        return {
          name: "all",
          metrics: () => [...made.metrics().values()][0]!,
          run: (signal) => made.run(signal),
        };
      }),
  };
}

test("every loop has a name of its own, and every account a role", async () => {
  const world = createWorld(documents);
  const all = managerIn(world);
  await all.start();
  const roles = controllerRoles.map((role) => role.account);
  const ofNamespaces = ["bootstrap-signer", "token-cleaner"];
  assert.deepEqual([...all.accounts].sort(), [...roles, ...ofNamespaces].toSorted());
  const names = [...all.manager.metrics().keys()];
  assert.equal(names.length, 35);
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
