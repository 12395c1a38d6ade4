/** The real kubectl through the plane to a fake kubelet: logs, exec, attach, port-forward, proxy, by WebSocket and SPDY. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { bound } from "../bound-child.ts";
import { findKubectl, kubectlEnvironment, noKubectl } from "../harness.ts";
import { type FakeKubelet, startKubelet } from "./fake-kubelet.ts";
import {
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  podsPath,
  startKubeletPlane,
} from "./kubelet-plane.ts";

const kubectl = findKubectl();
const ways = [
  ["WebSocket", "true"],
  ["SPDY", "false"],
] as const;

describe("kubectl", { skip: kubectl === undefined ? noKubectl : false }, () => {
  let kubelet: FakeKubelet;
  let world: KubeletPlane;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    kubelet = await startKubelet();
    const web = new Map([["10.2.0.1:80", kubelet.port]]);
    world = await startKubeletPlane({ authority: kubelet.authority, ports: web });
    await makeServiceAccount(world);
    await makeNode(world, "n1", kubelet.port);
    await makePod(world, "one", "n1", { ip: "10.2.0.1" });
    // As a kubelet would: kubectl attach and port-forward ask for a running pod.
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    const headers = { "content-type": "application/merge-patch+json" };
    await world.ask("PATCH", `${podsPath}/one/status`, { body: { status }, headers });
    const config = join(world.scratch, "kubeconfig");
    writeFileSync(config, world.kubeconfig);
    environment = kubectlEnvironment(config, world.scratch);
  });

  after(async () => {
    await world?.stop();
    await kubelet?.close();
  });

  function start(args: readonly string[], webSockets = "true"): ChildProcess {
    const env = {
      ...environment,
      KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets,
      KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
    };
    return bound(spawn(kubectl ?? "", args, { env, stdio: ["pipe", "pipe", "pipe"] }));
  }

  interface Ran {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }

  async function run(args: readonly string[], webSockets = "true", input = ""): Promise<Ran> {
    const child = start(args, webSockets);
    let out = "";
    let err = "";
    child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child.stdin?.end(input);
    const [code] = (await once(child, "close")) as [number];
    return { code, out, err };
  }

  test("logs prints the kubelet's log", async () => {
    const ran = await run(["logs", "one", "--tail=5", "--timestamps"]);
    const expected = "log of /containerLogs/default/one/c ?tailLines=5&timestamps=true\n";
    assert.deepEqual(ran, { code: 0, out: expected, err: "" });
    const wrong = await run(["logs", "one", "-c", "x"]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /container x is not valid for pod one/);
  });

  for (const [name, webSockets] of ways) {
    test(`exec runs a command over ${name}, with input, both outputs and its exit code`, async () => {
      const cat = await run(["exec", "-i", "one", "--", "cat"], webSockets, "hello\n");
      assert.deepEqual(cat, { code: 0, out: "hello\n", err: "" });
      const both = await run(["exec", "one", "--", "both"], webSockets);
      assert.deepEqual(both, { code: 0, out: "out\n", err: "err\n" });
      const exit = await run(["exec", "one", "--", "exit", "42"], webSockets);
      assert.equal(exit.code, 42);
      assert.equal(exit.err, "command terminated with exit code 42\n");
      const offered = kubelet.asked.at(-1)?.headers["x-stream-protocol-version"] ?? "";
      assert.equal(
        offered.includes(","),
        webSockets === "false",
        "SPDY goes to the kubelet as it is",
      );
    });

    test(`port-forward carries connections over ${name}`, async () => {
      const child = start(["port-forward", "pod/one", ":8080"], webSockets);
      let out = "";
      while (!/127\.0\.0\.1:(\d+)/.test(out)) out += String((await once(child.stdout!, "data"))[0]);
      const port = Number(/127\.0\.0\.1:(\d+)/.exec(out)?.[1]);
      for (const word of ["hello", "again"]) {
        const socket = connect(port, "127.0.0.1");
        socket.write(word);
        const [echo] = (await once(socket, "data")) as [Buffer];
        assert.equal(echo.toString(), word.toUpperCase());
        socket.destroy();
      }
      child.kill();
      await once(child, "exit");
    });
  }

  test("attach prints what the container writes", async () => {
    const ran = await run(["attach", "one"]);
    assert.equal(ran.code, 0, ran.err);
    assert.equal(ran.out, "\n");
  });

  test("proxy and get --raw lead to pods", async () => {
    const raw = await run(["get", "--raw", `${podsPath}/https:one:80/proxy/healthz`]);
    assert.equal(raw.out, '{"path":"/healthz","method":"GET"}', raw.err);
    const child = start(["proxy", "--port=0"]);
    let out = "";
    while (!/127\.0\.0\.1:(\d+)/.test(out)) out += String((await once(child.stdout!, "data"))[0]);
    const port = /127\.0\.0\.1:(\d+)/.exec(out)?.[1] ?? "";
    const path = `http://127.0.0.1:${port}${podsPath}/https:one:80/proxy/x`;
    const text = await new Promise<string>((resolve, reject) => {
      get(path, (response) => {
        let got = "";
        response.on("data", (chunk: Buffer) => (got += chunk.toString()));
        response.on("end", () => resolve(got));
      }).on("error", reject);
    });
    assert.equal(text, '{"path":"/x","method":"GET"}');
    child.kill();
    await once(child, "exit");
  });
});
