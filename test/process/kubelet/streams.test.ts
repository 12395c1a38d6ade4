/** exec, attach and port-forward through to a kubelet, in every protocol a client may speak. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { metadataPolicy } from "#server/audit/policy.ts";
import { keptAudit } from "#server/audit/testing/kept-audit.ts";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type FakeKubelet, startKubelet } from "./fake-kubelet.ts";
import {
  allReleased,
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  podsPath,
  startKubeletPlane,
} from "./kubelet-plane.ts";
import { openSpdy, type SpdyClient } from "./spdy-client.ts";
import { openWebSocket } from "./websocket-client.ts";

const v5 = "v5.channel.k8s.io";
const exec = (command: string, streams = "stdout=1&stderr=1"): string =>
  `${podsPath}/one/exec?${command
    .split(" ")
    .map((part) => `command=${part}`)
    .join("&")}&${streams}`;

/** Texts by channel, in the order of their arrival. */
function byChannel(messages: readonly Buffer[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const message of messages) {
    const channel = String(message[0]);
    texts[channel] = (texts[channel] ?? "") + message.subarray(1).toString();
  }
  return texts;
}

describe("exec, attach and port-forward", () => {
  let kubelet: FakeKubelet;
  let world: KubeletPlane;

  before(async () => {
    kubelet = await startKubelet();
    world = await startKubeletPlane({ authority: kubelet.authority });
    await makeServiceAccount(world);
    await makeNode(world, "n1", kubelet.port);
    await makeNode(world, "modern", kubelet.port, { features: ["ExtendWebSocketsToKubelet"] });
    await makeNode(world, "lost", kubelet.port, { type: "Unheard" });
    await makePod(world, "one", "n1");
    await makePod(world, "two", "modern");
    await makePod(world, "unreachable", "lost");
    await makePod(world, "homeless", "");
  });

  after(async () => {
    await world.stop();
    await kubelet.close();
  });

  async function viaSpdy(target: string, version = "v4.channel.k8s.io"): Promise<SpdyClient> {
    return openSpdy(world.socket(), target, version);
  }

  test("over SPDY, bytes go to the kubelet and back as they are", async () => {
    const client = await viaSpdy(exec("cat", "stdin=1&stdout=1"));
    const asked = kubelet.asked.at(-1);
    assert.equal(asked?.url, "/exec/default/one/c?command=cat&input=1&output=1");
    assert.equal(asked?.client, "kube-apiserver-kubelet-client");
    assert.match(client.head, /x-stream-protocol-version: v4.channel.k8s.io/i);
    const error = client.open("error");
    const stdin = client.open("stdin");
    const stdout = client.open("stdout");
    client.write(stdin, "hello");
    await client.until(stdout, (text) => text === "hello");
    client.end(stdin);
    await client.ended(error);
    assert.deepEqual(JSON.parse(client.text(error)), { metadata: {}, status: "Success" });
    client.close();
  });

  test("over WebSocket v5 is translated: channels, the end of stdin, exit codes", async () => {
    const cat = await openWebSocket(world.socket(), exec("cat", "stdin=true&stdout=true"), v5);
    assert.equal(cat.protocol, v5);
    await cat.until((messages) => messages.length === 1);
    assert.deepEqual([...(cat.messages()[0] ?? [])], [1]);
    cat.send("\0hello ");
    cat.send(Buffer.concat([Uint8Array.of(0), Buffer.alloc(200_000, "x")]));
    await cat.until((messages) => (byChannel(messages)["1"] ?? "").length === 200_006);
    cat.send(Uint8Array.of(255, 0));
    await cat.closed;
    assert.deepEqual(JSON.parse(byChannel(cat.messages())["3"] ?? ""), {
      metadata: {},
      status: "Success",
    });
    assert.equal(cat.closeCode(), 1000);
    const both = await openWebSocket(world.socket(), exec("both"), v5);
    await both.closed;
    const { 1: out, 2: err } = byChannel(both.messages());
    assert.deepEqual([out, err], ["out\n", "err\n"]);
    assert.equal(both.messages().at(-1)?.[0], 3);
    const exit = await openWebSocket(world.socket(), exec("exit 3"), v5);
    await exit.closed;
    assert.deepEqual(JSON.parse(byChannel(exit.messages())["3"] ?? ""), {
      metadata: {},
      status: "Failure",
      message: "command terminated with non-zero exit code: command terminated with exit code 3",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "3" }] },
    });
    await allReleased(world);
  });

  test("with a terminal, sizes go to the kubelet and there is no stderr", async () => {
    const target = exec("cat", "stdin=1&stdout=1&stderr=1&tty=1");
    const peer = await openWebSocket(world.socket(), target, v5);
    peer.send('\x04{"Width":80,"Height":24}');
    await peer.until((messages) => byChannel(messages)["1"] === '{"Width":80,"Height":24}');
    assert.equal(
      kubelet.asked.at(-1)?.url,
      "/exec/default/one/c?command=cat&error=1&input=1&output=1&tty=1",
    );
    peer.close();
    await peer.closed;
  });

  test("attach is as exec, without a command", async () => {
    const peer = await openWebSocket(world.socket(), `${podsPath}/one/attach?stdout=1`, v5);
    await peer.closed;
    assert.equal(kubelet.asked.at(-1)?.url, "/attach/default/one/c?output=1");
  });

  test("a kubelet that declares it gets a client's WebSocket itself, and older protocols always", async () => {
    const newer = exec("ls").replace("/one/", "/two/");
    const cases = [
      [newer, v5, "/exec/default/two/c?command=ls&error=1&output=1"],
      [exec("ls"), "v4.channel.k8s.io", "/exec/default/one/c?command=ls&error=1&output=1"],
      [
        `${podsPath}/one/portforward?ports=80,81`,
        "v4.channel.k8s.io",
        "/portForward/default/one?port=80%2C81",
      ],
    ] as const;
    for (const [target, protocol, url] of cases) {
      const token = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
      const peer = await openWebSocket(world.socket(), target, `${protocol}, ${token}x`);
      await peer.until((messages) => messages.length > 0);
      assert.equal(peer.messages()[0]?.toString(), url);
      assert.equal(kubelet.asked.at(-1)?.headers["sec-websocket-protocol"], protocol);
      peer.destroy();
      await peer.closed;
    }
  });

  test("port-forward works over SPDY and over SPDY within WebSocket", async () => {
    const target = `${podsPath}/one/portforward`;
    const spdy = await viaSpdy(target, "portforward.k8s.io");
    const stream = spdy.open("data", { port: "80", requestID: "0" });
    spdy.write(stream, "hello");
    await spdy.until(stream, (text) => text === "HELLO");
    spdy.close();
    const peer = await openWebSocket(world.socket(), target, "SPDY/3.1+portforward.k8s.io");
    assert.equal(peer.protocol, "SPDY/3.1+portforward.k8s.io");
    assert.equal(kubelet.asked.at(-1)?.headers["x-stream-protocol-version"], "portforward.k8s.io");
    assert.equal(kubelet.asked.at(-1)?.headers["sec-websocket-key"], undefined);
    const { StreamOpener, dataFrames } = await import("#wire/spdy/frames.ts");
    const { id, frame } = new StreamOpener().open({ streamtype: "data", port: "80" });
    peer.send(frame);
    for (const part of dataFrames(id, Buffer.from("hello"))) peer.send(part);
    await peer.until((messages) => Buffer.concat(messages).includes("HELLO"));
    peer.close();
    await peer.closed;
    assert.equal(peer.closeCode(), 1000);
  });

  test("are refused with upstream's words", async () => {
    const upgrade = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const cases: readonly (readonly [string, number, string, object?])[] = [
      ["missing/exec?command=x", 404, 'pods "missing" not found', upgrade],
      ["one/exec?command=x", 400, "Upgrade request required"],
      ["one/exec?container=y", 400, "container y is not valid for pod one", upgrade],
      ["one/exec?dryRun=All", 400, "dryRun is not supported", upgrade],
      ["homeless/portforward", 400, "pod homeless does not have a host assigned", upgrade],
      [
        "one/portforward?ports=99999",
        400,
        'cannot convert to []int32: strconv.ParseUint: parsing "99999": value out of range',
        upgrade,
      ],
      [
        "unreachable/attach",
        500,
        "no preferred addresses found; known addresses: [{Unheard 127.0.0.1}]",
        upgrade,
      ],
    ];
    for (const [path, status, message, headers = {}] of cases) {
      const answer = await world.ask("POST", `${podsPath}/${path}`, { headers: { ...headers } });
      assert.deepEqual([answer.status, answer.message], [status, message], path);
    }
  });

  test("who may only get them may not open a WebSocket", async () => {
    const rules = [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }];
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    await world.ask("POST", `${rbac}/clusterroles`, { body: { metadata: { name: "r" }, rules } });
    await world.ask("POST", `${rbac}/clusterrolebindings`, {
      body: {
        metadata: { name: "r" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
        subjects: [{ kind: "User", name: "reader", apiGroup: "rbac.authorization.k8s.io" }],
      },
    });
    const before = kubelet.asked.length;
    const as = ["impersonate-user: reader"];
    const opened = openWebSocket(world.socket(), exec("ls"), v5, as);
    await assert.rejects(opened, /403[\s\S]*pods \\"one\\" is forbidden: /);
    assert.equal(kubelet.asked.length, before);
  });

  test("a kubelet's refusal is a client's: as an answer over SPDY, on the error channel over WebSocket", async () => {
    kubelet.upgrade = (_message, socket) =>
      void socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 19\r\n\r\ncontainer not found");
    await assert.rejects(viaSpdy(exec("ls")), /404[\s\S]*container not found/);
    const peer = await openWebSocket(world.socket(), exec("ls"), v5);
    await peer.closed;
    const status = JSON.parse(byChannel(peer.messages())["3"] ?? "") as { message: string };
    assert.equal(
      status.message,
      "Internal error occurred: unable to upgrade connection: container not found",
    );
    kubelet.upgrade = undefined;
    await allReleased(world);
  });

  test("a client that ends its half only is let go, whatever it had opened", async () => {
    const forward = `${podsPath}/one/portforward`;
    const cases = [
      [exec("hold"), v5],
      [exec("hold"), "v4.channel.k8s.io"],
      [forward, "SPDY/3.1+portforward.k8s.io"],
    ] as const;
    for (const [target, protocol] of cases) {
      const client = world.socket();
      const peer = await openWebSocket(client, target, protocol);
      client.end();
      await peer.closed;
    }
    await allReleased(world);
  });

  test("an end of either side ends the other", async () => {
    const client = world.socket();
    const peer = await openWebSocket(client, exec("hold"), v5);
    await peer.until((messages) => byChannel(messages)["1"] === "ready\n");
    const [upstream] = [...kubelet.sockets].slice(-1);
    client.destroy();
    await once(upstream as TLSSocket, "close");
    const other = await openWebSocket(world.socket(), exec("hold"), v5);
    await other.until((messages) => byChannel(messages)["1"] === "ready\n");
    for (const socket of kubelet.sockets) socket.destroy();
    await other.closed;
    assert.match(byChannel(other.messages())["3"] ?? "", /error reading from error stream/);
    const raw = await viaSpdy(exec("hold"));
    for (const socket of kubelet.sockets) socket.destroy();
    await raw.closed;
    await allReleased(world);
  });
});

test("a plane that stops ends what is open", async () => {
  const kubelet = await startKubelet();
  const world = await startKubeletPlane({ authority: kubelet.authority });
  await makeServiceAccount(world);
  await makeNode(world, "n1", kubelet.port);
  await makePod(world, "one", "n1");
  const target = exec("hold");
  const held = await Promise.all([
    openWebSocket(world.socket(), target, v5),
    openWebSocket(world.socket(), target, "v4.channel.k8s.io"),
    openWebSocket(world.socket(), `${podsPath}/one/portforward`, "SPDY/3.1+portforward.k8s.io"),
  ]);
  const spdy = await openSpdy(world.socket(), target, "v4.channel.k8s.io");
  const begin = performance.now();
  await world.stop();
  await Promise.all([...held, spdy].map(({ closed }) => closed));
  await allReleased(world);
  assert.ok(performance.now() - begin < 4_000, "nothing waited for the end of the grace");
  await kubelet.close();
});

test("each of them leaves an audit event when it ends, with its verb, its subresource and its code", async (t) => {
  let heard = (): void => {};
  const { audit, events } = keptAudit(metadataPolicy, () => heard());
  const kubelet = await startKubelet();
  const world = await startKubeletPlane({ authority: kubelet.authority, audit });
  t.after(async () => {
    await world.stop();
    await kubelet.close();
  });
  await makeServiceAccount(world);
  await makeNode(world, "n1", kubelet.port);
  await makePod(world, "one", "n1");
  events.length = 0;
  const ended = () => events.filter(({ stage }) => stage === "ResponseComplete");
  const areOver = new Promise<void>((resolve) => {
    heard = () => (ended().length === 4 ? resolve() : undefined);
  });
  const socket = await openWebSocket(world.socket(), exec("ls"), v5);
  await socket.closed;
  (await openSpdy(world.socket(), `${podsPath}/one/portforward`, "portforward.k8s.io")).close();
  await world.ask("GET", `${podsPath}/one/log`);
  await world.ask("POST", `${podsPath}/one/attach`);
  await allReleased(world);
  await areOver;
  assert.deepEqual(
    ended()
      .map(
        ({ verb, objectRef, responseStatus }) =>
          `${verb} ${objectRef?.["subresource"]} ${objectRef?.["name"]} ${responseStatus?.code}`,
      )
      .toSorted(),
    ["create attach one 400", "create portforward one 101", "get exec one 101", "get log one 200"],
  );
});
