/**
 * The checks of `/healthz`, `/livez` and `/readyz` beside those that a stock server told: ours are some of
 * them, in its order, and those that we have not are named here and in docs/contract.md.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { health } from "./cases/health.ts";
import { readGolden } from "./golden.ts";
import { runSuite } from "./run.ts";
import { startOurs } from "./servers.ts";

const hook = (name: string): string => `poststarthook/${name}`;
/** Nothing of the kind happens here at the start. */
const stockAlone = [
  "loopback-serving-certificate",
  hook("priority-and-fairness-filter"),
  hook("storage-object-count-tracker-hook"),
  hook("peer-endpoint-reconciler-controller"),
  hook("start-kube-apiserver-identity-lease-controller"),
  hook("start-kube-apiserver-identity-lease-garbage-collector"),
  hook("start-kubernetes-service-cidr-controller"),
];

test("a verbose health page is stock's without the lines of checks that only stock has", async () => {
  const server = await startOurs();
  try {
    const ours = await runSuite(server, health);
    const golden = readGolden("health");
    for (const name of ["groups", "left out"]) {
      for (const [index, { step, body }] of (golden[name] ?? []).entries())
        assert.equal(ours[name]?.[index]?.body, expected(String(body)), step);
    }
  } finally {
    await server.stop();
  }
});

function expected(page: string): string {
  const isOurs = (line: string): boolean => !stockAlone.some((name) => line === `[+]${name} ok`);
  return page.split("\n").filter(isOurs).join("\n");
}
