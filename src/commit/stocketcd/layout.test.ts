/** Keys there and back. The folders are those of a stock 1.36.3 server's etcd. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import { resourcePrefix } from "#registry/keys.ts";
import type { Key } from "#store/store.ts";
import { KeyLayout } from "./layout.ts";

const stored = builtinResources().map((info) => info.storage ?? info);
const layout = new KeyLayout(stored, "/registry");
const definitions = "/registry/apiextensions.k8s.io/customresourcedefinitions/w.example.com";

const known: readonly (readonly [ours: string, stock: string])[] = [
  ["/registry/core/pods/default/web", "/registry/pods/default/web"],
  ["/registry/core/nodes/n1", "/registry/minions/n1"],
  ["/registry/core/services/default/web", "/registry/services/specs/default/web"],
  ["/registry/core/endpoints/default/web", "/registry/services/endpoints/default/web"],
  ["/registry/core/replicationcontrollers/default/web", "/registry/controllers/default/web"],
  ["/registry/core/events/default/web.1", "/registry/events/default/web.1"],
  ["/registry/networking.k8s.io/ingresses/default/web", "/registry/ingress/default/web"],
  ["/registry/apps/deployments/default/web", "/registry/deployments/default/web"],
  ["/registry/coordination.k8s.io/leases/kube-system/x", "/registry/leases/kube-system/x"],
  ["/registry/core/masterleases/192.0.2.1", "/registry/masterleases/192.0.2.1"],
  ["/registry/core/rangeallocations/servicenodeports", "/registry/ranges/servicenodeports"],
  [definitions, definitions],
  ["/registry/example.com/widgets/default/w", "/registry/example.com/widgets/default/w"],
];

for (const [ours, stock] of known) {
  test(`${stock} is ${ours}`, () => {
    assert.equal(layout.toStock(ours as Key), stock);
    assert.equal(layout.fromStock(stock), ours);
  });
}

test("every built-in kind has a folder of its own", () => {
  for (const resource of stored) {
    const key = `${resourcePrefix(resource)}ns/name` as Key;
    assert.equal(layout.fromStock(layout.toStock(key)), key);
  }
});

test("what is no object is none: leases of masters, ranges, folders without a name", () => {
  const others = [
    "/registry/masterleases/",
    "/registry/ranges/",
    "/registry/pods/",
    "/registry/pods",
    "/registry/example.com/widgets",
    "/registry/example.com/widgets/",
    "/registry/",
  ];
  for (const key of others) assert.equal(layout.fromStock(key), undefined, key);
});

test("a prefix of one's own takes the place of /registry", () => {
  const own = new KeyLayout(stored, "/clusters/one/");
  assert.equal(own.toStock("/registry/core/pods/a/b" as Key), "/clusters/one/pods/a/b");
  assert.equal(own.fromStock("/clusters/one/pods/a/b"), "/registry/core/pods/a/b");
});

test("what another cluster holds is not shown, whatever lies here", () => {
  const holds = ({ resource }: { resource: string }): boolean => resource !== "events";
  const rest = new KeyLayout(stored, "/registry", holds);
  assert.equal(rest.fromStock("/registry/events/default/e"), undefined);
  assert.equal(rest.fromStock("/registry/pods/default/p"), "/registry/core/pods/default/p");
  const events = new KeyLayout(stored, "/registry", (one) => !holds(one));
  assert.equal(events.fromStock("/registry/events/default/e"), "/registry/core/events/default/e");
  assert.equal(events.fromStock("/registry/pods/default/p"), undefined);
  assert.equal(events.fromStock("/registry/example.com/widgets/default/w"), undefined);
});
