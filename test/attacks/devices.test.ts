/**
 * Devices against a whole control plane: administrative access, allocations, reports and slices need their
 * rights, as on stock kube-apiserver 1.36.3.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AttackedServer, openPlane, openStock } from "./attacked-plane.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { until } from "../process/stock-apiserver.ts";
import { changeClaim, deviceCases, deviceWorld } from "./device-cases.ts";
import { nodeWorld } from "./node-world.ts";
import { compareAnswers, type Known, prepare, shown } from "./recorded.ts";
import answers from "./answers/devices.json" with { type: "json" };

const stock = findPeer("kube-apiserver");

/** Runs on both servers. */
function attackDevices(open: () => Promise<AttackedServer>): void {
  let server: AttackedServer;
  let uid: Known;

  before(async () => {
    server = await open();
    uid = await prepare(server, [...nodeWorld, ...deviceWorld]);
    const seen = deviceCases.filter(({ title }) => /^a slice seen|^plain/.test(title));
    await until("a stock server's informers have seen slices and roles", async () => {
      const all = await Promise.all(seen.map(({ attack }) => server.request(attack(uid))));
      return all.every(({ status }) => status < 300);
    });
  });
  after(() => server?.stop());

  test("what a claim, its status and a slice say needs the right to say it", () =>
    compareAnswers(server, uid, deviceCases, answers));

  test("what a claim asks for never changes", async () => {
    const text = shown(await server.request(changeClaim()));
    assert.match(text, /^422 ResourceClaim.* is invalid: spec: .*: field is immutable$/);
  });
}

describe("devices", () => attackDevices(openPlane));

describe(
  "devices of a stock server",
  {
    skip: stock === undefined ? noPeer("kube-apiserver") : false,
  },
  () => attackDevices(() => openStock(stock ?? "")),
);
