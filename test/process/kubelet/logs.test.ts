/** pods/log through to a kubelet: options, refusals, certificates, streaming, WebSocket. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { makeAuthority } from "#auth/pki.ts";
import { type FakeKubelet, issue, startKubelet } from "./fake-kubelet.ts";
import {
  allReleased,
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  podsPath,
  startKubeletPlane,
} from "./kubelet-plane.ts";
import { openWebSocket } from "./websocket-client.ts";

describe("pods/log", () => {
  let kubelet: FakeKubelet;
  let world: KubeletPlane;

  before(async () => {
    kubelet = await startKubelet();
    world = await startKubeletPlane({ authority: kubelet.authority });
    await makeServiceAccount(world);
    await makeNode(world, "n1", kubelet.port);
    await makePod(world, "one", "n1");
    await makePod(world, "two", "n1", { containers: ["a", "b"] });
    await makePod(world, "homeless", "");
  });

  after(async () => {
    await world.stop();
    await kubelet.close();
  });

  test("are the kubelet's, and all options reach it in its names", async () => {
    const plain = await world.ask("GET", `${podsPath}/one/log`);
    assert.equal(plain.status, 200);
    assert.equal(plain.headers["content-type"], "text/plain");
    assert.equal(plain.text, "log of /containerLogs/default/one/c \n");
    const query =
      "container=b&follow=true&previous=1&timestamps=true&sinceSeconds=60&tailLines=10&limitBytes=2000&pretty=true";
    await world.ask("GET", `${podsPath}/two/log?${query}`);
    assert.equal(
      kubelet.asked.at(-1)?.url,
      "/containerLogs/default/two/b?follow=true&limitBytes=2000&previous=true&sinceSeconds=60&tailLines=10&timestamps=true",
    );
    const since = "sinceTime=2026-01-02T03:04:05.5%2B01:00&tailLines=9223372036854775807";
    await world.ask("GET", `${podsPath}/one/log?${since}`);
    const expected = "?sinceTime=2026-01-02T02%3A04%3A05Z&tailLines=9223372036854775807";
    assert.equal(kubelet.asked.at(-1)?.url, `/containerLogs/default/one/c${expected}`);
    await world.ask("GET", `${podsPath}/one/log?stream=Stderr`);
    assert.equal(kubelet.asked.at(-1)?.url, "/containerLogs/default/one/c?stream=Stderr");
  });

  test("show the kubelet this server's certificate, and nothing of the client's", async () => {
    await world.ask("GET", `${podsPath}/one/log`, {
      headers: { cookie: "a=b", "x-mine": "1", authorization: "Basic eDp5" },
    });
    const asked = kubelet.asked.at(-1);
    assert.equal(asked?.client, "kube-apiserver-kubelet-client");
    assert.deepEqual(
      Object.keys(asked?.headers ?? {}).filter((name) => name !== "connection" && name !== "host"),
      [],
    );
  });

  test("are refused with upstream's words before the kubelet is asked", async () => {
    const count = kubelet.asked.length;
    const cases: readonly (readonly [string, number, string])[] = [
      ["missing/log", 404, 'pods "missing" not found'],
      ["one/log?container=x", 400, "container x is not valid for pod one"],
      ["two/log", 400, "a container name must be specified for pod two, choose one of: [a b]"],
      ["homeless/log", 400, "pod homeless does not have a host assigned"],
      [
        "one/log?tailLines=-1",
        422,
        'PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
      ],
      [
        "one/log?limitBytes=0",
        422,
        'PodLogOptions "one" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
      ],
      [
        "one/log?sinceSeconds=0",
        422,
        'PodLogOptions "one" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
      ],
      [
        "one/log?sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z",
        422,
        'PodLogOptions "one" is invalid: : Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
      ],
      [
        "one/log?stream=both",
        422,
        'PodLogOptions "one" is invalid: stream: Unsupported value: "both": supported values: "All", "Stderr", "Stdout"',
      ],
      ["one/log?sinceSeconds=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'],
      [
        "one/log?tailLines=9223372036854775808",
        400,
        'strconv.ParseInt: parsing "9223372036854775808": value out of range',
      ],
      [
        "one/log?sinceTime=x",
        400,
        'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
      ],
    ];
    for (const [path, status, message] of cases) {
      const answer = await world.ask("GET", `${podsPath}/${path}`);
      assert.deepEqual([answer.status, answer.message], [status, message], path);
    }
    assert.equal(kubelet.asked.length, count);
  });

  test("that the kubelet refuses are refused as upstream words it, and its redirects are not followed", async () => {
    const cases: readonly (readonly [number, number, string])[] = [
      [400, 400, "because"],
      [500, 500, "Internal error occurred: because"],
      [404, 404, "the server could not find the requested resource ( pods/log one)"],
      [403, 403, "because ( pods/log one)"],
      [
        502,
        502,
        'an error on the server ("because") has prevented the request from succeeding ( pods/log one)',
      ],
    ];
    for (const [said, status, message] of cases) {
      kubelet.answer = (_message, response) => void response.writeHead(said).end("because");
      const answer = await world.ask("GET", `${podsPath}/one/log`);
      assert.deepEqual([answer.status, answer.message], [status, message]);
    }
    kubelet.answer = (_message, response) =>
      void response.writeHead(302, { location: "http://169.254.169.254/latest" }).end();
    const answer = await world.ask("GET", `${podsPath}/one/log`);
    assert.equal(answer.status, 500);
    assert.match(answer.message, /^Get "https:.*": redirects forbidden$/);
    kubelet.answer = undefined;
  });

  test("come as the kubelet writes them, and end when the client leaves", async () => {
    let write: (text: string) => void = () => {};
    const closed = new Promise<void>((resolve) => {
      kubelet.answer = (_message, response) => {
        response.writeHead(200);
        response.write("first\n");
        write = (text) => void response.write(text);
        response.on("close", resolve);
      };
    });
    const socket = world.socket();
    socket.write(`GET ${podsPath}/one/log?follow=true HTTP/1.1\r\nhost: x\r\n\r\n`);
    let got = "";
    const seen = async (text: string): Promise<void> => {
      while (!got.includes(text)) got += String((await once(socket, "data"))[0]);
    };
    await seen("first\n");
    write("second\n");
    await seen("second\n");
    assert.equal(world.streams.open, 1);
    socket.destroy();
    await closed;
    kubelet.answer = undefined;
    await world.ask("GET", `${podsPath}/one/log`);
    await allReleased(world);
  });

  test("that break off at the kubelet break off at the client", async () => {
    kubelet.answer = (_message, response) => {
      response.writeHead(200);
      response.write("half", () => response.destroy());
    };
    await assert.rejects(world.ask("GET", `${podsPath}/one/log`), /aborted|hang up|ECONNRESET/);
    kubelet.answer = undefined;
  });

  test("leave over WebSocket as messages: empty first, then bytes or base64", async () => {
    for (const [protocol, expected] of [
      ["", "log of /containerLogs/default/one/c \n"],
      ["binary.k8s.io", "log of /containerLogs/default/one/c \n"],
      [
        "base64.binary.k8s.io",
        Buffer.from("log of /containerLogs/default/one/c \n").toString("base64"),
      ],
    ] as const) {
      const peer = await openWebSocket(world.socket(), `${podsPath}/one/log`, protocol);
      assert.equal(peer.protocol, protocol);
      await peer.closed;
      assert.deepEqual(peer.messages().map(String), ["", expected]);
      assert.equal(peer.closeCode(), 1000);
    }
    const refused = openWebSocket(world.socket(), `${podsPath}/one/log`, "mine");
    await assert.rejects(refused, /403/);
    await allReleased(world);
  });
});

test("a kubelet's certificate must be of the authority and for its address; one request may do without", async (t) => {
  const signer = makeAuthority("kubelets", issue);
  const honest = await startKubelet({ signer });
  const other = await startKubelet();
  const misnamed = await startKubelet({ signer, hosts: ["somebody.else"] });
  const world = await startKubeletPlane({ authority: honest.authority });
  t.after(async () => {
    await world.stop();
    await Promise.all([honest.close(), other.close(), misnamed.close()]);
  });
  await makeServiceAccount(world);
  await makeNode(world, "other", other.port);
  await makeNode(world, "misnamed", misnamed.port);
  await makePod(world, "a", "other");
  await makePod(world, "b", "misnamed");
  const unknown = await world.ask("GET", `${podsPath}/a/log`);
  assert.equal(unknown.status, 500);
  assert.match(unknown.message, /x509: certificate signed by unknown authority$/);
  // A Host header does not decide what the certificate must be for.
  const headers = { host: "somebody.else" };
  const exec = { ...headers, connection: "upgrade", upgrade: "SPDY/3.1" };
  const spoofed = await world.ask("POST", `${podsPath}/b/exec?command=x&stdout=1`, {
    headers: exec,
  });
  assert.equal(spoofed.status, 500);
  assert.match(spoofed.message, /x509: certificate is not valid for 127\.0\.0\.1$/);
  assert.equal(other.asked.length + misnamed.asked.length, 0);
  const careless = await world.ask("GET", `${podsPath}/a/log?insecureSkipTLSVerifyBackend=true`);
  assert.equal(careless.status, 200);
});
