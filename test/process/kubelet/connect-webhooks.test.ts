/** Mutating webhooks and CONNECT: what they change of the options goes to the kubelet. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openWebhookServer, patch, type WebhookServer } from "#extension/testing/webhook-server.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { configuration, pathOf, registration, rule } from "../../conformance/webhook-world.ts";
import { type FakeKubelet, startKubelet } from "./fake-kubelet.ts";
import {
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  must,
  podsPath,
  startKubeletPlane,
} from "./kubelet-plane.ts";
import { openWebSocket } from "./websocket-client.ts";

const configurations = `${registration}/${pathOf("mutating")}`;
const exec = `${podsPath}/one/exec?command=cat&stdin=1&stdout=1`;

describe("a mutating webhook on CONNECT", () => {
  let kubelet: FakeKubelet;
  let world: KubeletPlane;
  let hooks: WebhookServer;
  let web: FakeKubelet;

  before(async () => {
    hooks = await openWebhookServer(new NodeClock().nowMs());
    kubelet = await startKubelet();
    web = await startKubelet({ plain: true });
    const ports = new Map([["10.2.0.1:80", web.port]]);
    world = await startKubeletPlane({ authority: kubelet.authority, ports });
    await makeServiceAccount(world);
    await makeNode(world, "n1", kubelet.port);
    await makePod(world, "one", "n1");
    await makePod(world, "web", "n1", { ip: "10.2.0.1" });
    const rules = [rule(["pods/exec", "pods/proxy"], { operations: ["CONNECT"] })];
    const clientConfig = { url: hooks.url("/connect"), caBundle: hooks.caBundle };
    const body = configuration("mutating", "connect", { clientConfig, rules });
    await must(world.ask("POST", configurations, { body }));
  });

  after(async () => {
    await world.stop();
    await hooks.close();
    await Promise.all([kubelet.close(), web.close()]);
  });

  test("changes command and streams of an exec", async () => {
    hooks.on(
      "/connect",
      patch({ op: "replace", path: "/command", value: ["both"] }, { op: "remove", path: "/stdin" }),
    );
    const peer = await openWebSocket(world.socket(), exec, "v5.channel.k8s.io");
    await peer.closed;
    assert.equal(kubelet.asked.at(-1)?.url, "/exec/default/one/c?command=both&output=1");
    assert.equal(hooks.asked.at(-1)?.object?.kind, "PodExecOptions");
  });

  test("changes the path of a proxied request, which stays below the root", async () => {
    hooks.on("/connect", patch({ op: "replace", path: "/path", value: "/../healthz" }));
    const answer = await world.ask("GET", `${podsPath}/web:80/proxy/metrics`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(web.asked.at(-1)?.url, "/healthz");
  });

  test("leaves options of wrong types: the request fails before it leaves", async () => {
    const before = kubelet.asked.length;
    for (const [field, value] of [
      ["command", "rm -rf /"],
      ["command", [{ a: 1 }]],
      ["stdin", "yes"],
      ["container", ["c"]],
    ] as const) {
      hooks.on("/connect", patch({ op: "add", path: `/${field}`, value }));
      const answer = await world.ask("POST", exec);
      assert.equal(answer.status, 500, answer.text);
      assert.match(answer.message, new RegExp(`wrong type of ${field}$`));
    }
    assert.equal(kubelet.asked.length, before);
  });
});
