/** nodes/proxy, pods/proxy and services/proxy: names, paths, methods, headers, links, upgrades. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { after, before, describe, test } from "node:test";
import { type FakeKubelet, startKubelet } from "./fake-kubelet.ts";
import {
  allReleased,
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  must,
  podsPath,
  startKubeletPlane,
} from "./kubelet-plane.ts";
import { openWebSocket } from "./websocket-client.ts";

const services = "/api/v1/namespaces/default/services";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

describe("a proxy", () => {
  let kubelet: FakeKubelet;
  let web: FakeKubelet;
  let secure: FakeKubelet;
  let world: KubeletPlane;
  const ports = new Map<string, number>();

  before(async () => {
    kubelet = await startKubelet({ hosts: ["10.1.0.1", "node.example"] });
    web = await startKubelet({ plain: true });
    secure = await startKubelet();
    ports.set("10.1.0.1:10250", kubelet.port).set("10.1.0.1:9100", web.port);
    ports.set("10.1.0.9:10250", kubelet.port);
    ports.set("10.2.0.1:8080", web.port).set("10.2.0.1:80", web.port);
    ports.set("10.2.0.2:8443", secure.port);
    const names = { "node.example": ["10.1.0.9"] };
    world = await startKubeletPlane({ authority: kubelet.authority, ports, names });
    await makeServiceAccount(world);
    await makeNode(world, "n1", 10_250, { address: "10.1.0.1" });
    await makeNode(world, "named", 10_250, { address: "node.example", type: "Hostname" });
    await makePod(world, "web", "n1", { ip: "10.2.0.1", port: 8080 });
    await makePod(world, "bare", "n1", { ip: "10.2.0.1" });
    await makePod(world, "secure", "n1", { ip: "10.2.0.2", port: 8443 });
    await makeService("s", [
      { name: "http", port: 80 },
      { name: "https", port: 443 },
    ]);
    await makeSlice("s-1", "s", [{ name: "http", port: 8080 }], [["10.2.0.1", "web"]]);
    await makeSlice("s-2", "s", [{ name: "https", port: 8443 }], [["10.2.0.2", "secure"]]);
    await makeService("plain", [{ port: 80 }]);
    await makeSlice("plain-1", "plain", [{ port: 8080 }], [["10.2.0.1", "web"]]);
    await makeService("empty", [{ port: 80 }]);
  });

  after(async () => {
    await world.stop();
    await Promise.all([kubelet.close(), web.close(), secure.close()]);
  });

  async function makeService(name: string, given: readonly object[]): Promise<void> {
    const body = { metadata: { name }, spec: { ports: given } };
    await must(world.ask("POST", services, { body }));
  }

  async function makeSlice(
    name: string,
    service: string,
    given: readonly object[],
    addresses: readonly (readonly [string, string])[],
  ): Promise<void> {
    const endpoints = addresses.map(([address, pod]) => ({
      addresses: [address],
      targetRef: { kind: "Pod", namespace: "default", name: pod },
    }));
    const metadata = { name, labels: { "kubernetes.io/service-name": service } };
    await must(
      world.ask("POST", slices, {
        body: { metadata, addressType: "IPv4", ports: given, endpoints },
      }),
    );
  }

  test("of a node leads to its kubelet, with the certificate, or to another port, without", async () => {
    for (const name of ["n1", "n1:10250", "https:n1:10250", "named"]) {
      const answer = await world.ask("GET", `/api/v1/nodes/${name}/proxy/pods?a=b%20c`);
      assert.equal(answer.text, '{"path":"/pods?a=b%20c","method":"GET"}', name);
      assert.equal(kubelet.asked.at(-1)?.client, "kube-apiserver-kubelet-client");
    }
    const other = await world.ask("GET", "/api/v1/nodes/http:n1:9100/proxy/metrics");
    assert.equal(other.text, '{"path":"/metrics","method":"GET"}');
    const missing = await world.ask("GET", "/api/v1/nodes/gone/proxy/");
    assert.equal(missing.message, 'nodes "gone" not found');
    const wrong = await world.ask("GET", "/api/v1/nodes/ftp:n1:21/proxy/");
    assert.deepEqual([wrong.status, wrong.message], [400, 'invalid node request "ftp:n1:21"']);
  });

  test("of a pod leads to its first port, or to the one named, by http or https", async () => {
    for (const name of ["web", "web:8080", "http:web:8080", "bare", ":web:"]) {
      const answer = await world.ask("GET", `${podsPath}/${name}/proxy/x`);
      assert.equal(answer.text, '{"path":"/x","method":"GET"}', name);
    }
    const tls = await world.ask("GET", `${podsPath}/https:secure:/proxy/x`);
    assert.equal(tls.text, '{"path":"/x","method":"GET"}');
    assert.equal(secure.asked.at(-1)?.client, "", "a pod sees no certificate of the server");
    const unknown = await world.ask("GET", `${podsPath}/web:http/proxy/`);
    assert.equal(unknown.status, 503);
    assert.match(unknown.message, /unknown port$/);
    const deaf = await world.ask("GET", `${podsPath}/web:81/proxy/`);
    assert.deepEqual(
      [deaf.status, deaf.message],
      [503, "error trying to reach service: dial tcp 10.2.0.1:81: connect: connection refused"],
    );
  });

  test("of a service leads to a ready endpoint, by the port's name or number", async () => {
    for (const name of ["s:http", "s:80", "http:s:http", "plain", "plain:80"]) {
      const answer = await world.ask("GET", `${services}/${name}/proxy/y`);
      assert.equal(answer.text, '{"path":"/y","method":"GET"}', name);
    }
    const tls = await world.ask("GET", `${services}/https:s:443/proxy/y`);
    assert.equal(tls.status, 200);
    assert.equal(secure.asked.at(-1)?.url, "/y");
    const cases = [
      ["gone", 404, 'services "gone" not found'],
      ["empty", 503, 'no endpoints available for service "empty"'],
      ["s", 503, 'no endpoints available for service "s"'],
      ["s:81", 503, 'no service port 81 found for service "s"'],
      ["s:nope", 503, 'no endpoints available for service "s:nope"'],
    ] as const;
    for (const [name, status, message] of cases) {
      const answer = await world.ask("GET", `${services}/${name}/proxy/`);
      assert.deepEqual([answer.status, answer.message], [status, message]);
    }
  });

  test("passes every method with its body, and a path as it was", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const body = method === "GET" || method === "DELETE" ? {} : { text: `body of ${method}` };
      const answer = await world.ask(method, `${podsPath}/web/proxy/a%20b/c+d?x=1&x=2`, body);
      assert.equal(answer.text, `{"path":"/a%20b/c+d?x=1&x=2","method":"${method}"}`);
      assert.equal(web.asked.at(-1)?.body(), body.text ?? "");
    }
    web.answer = (_message, response) =>
      void response.writeHead(200, { "content-length": 1234, "x-a": "b" }).end();
    const head = await world.ask("HEAD", `${podsPath}/web/proxy/`);
    assert.deepEqual(
      [head.status, head.headers["content-length"], head.headers["x-a"]],
      [200, "1234", "b"],
    );
    web.answer = undefined;
    const none = await world.ask("GET", `${podsPath}/web/proxy`);
    assert.deepEqual([none.status, none.headers["location"]], [301, `${podsPath}/web/proxy/`]);
    const post = await world.ask("POST", `${podsPath}/web/proxy?q=1`);
    assert.equal(post.text, '{"path":"/?q=1","method":"POST"}');
    const open = await world.ask("GET", `${podsPath}/web/proxy/dir/`);
    assert.equal(open.text, '{"path":"/dir/","method":"GET"}');
  });

  test("passes headers both ways, but for those of a connection and of other origins", async () => {
    web.answer = (_message, response) => {
      response.writeHead(
        418,
        [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2, c"],
          ["access-control-allow-origin", "*"],
          ["x-kept", "yes"],
          ["content-type", "text/plain"],
        ].flat(),
      );
      response.end("tea");
    };
    const headers = {
      cookie: "c=d",
      connection: "keep-alive, x-hop",
      "x-hop": "1",
      te: "trailers",
      "x-forwarded-for": "9.9.9.9",
      accept: "text/html",
    };
    const answer = await world.ask("GET", `${podsPath}/web/proxy/p`, { headers });
    assert.deepEqual([answer.status, answer.text], [418, "tea"]);
    assert.deepEqual(answer.headers["set-cookie"], ["a=1", "b=2, c"]);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
    assert.equal(answer.headers["x-kept"], "yes");
    const { headers: sent = {} } = web.asked.at(-1) ?? {};
    assert.equal(sent["cookie"], "c=d");
    assert.equal(sent["x-hop"], undefined);
    assert.equal(sent["te"], undefined);
    assert.equal(sent["x-forwarded-for"], "9.9.9.9, 127.0.0.1");
    assert.equal(sent["x-forwarded-uri"], `${podsPath}/web/proxy/p`);
    assert.ok(sent["host"]?.startsWith("127.0.0.1:"), "the client's Host header, as upstream");
    web.answer = undefined;
  });

  test("changes Location and the links of HTML, compressed HTML too, to lead through itself", async () => {
    const base = `${podsPath}/web/proxy`;
    const locations = [
      ["/next?a#b", `${base}/next?a#b`],
      ["http://10.2.0.1:8080/x", `${base}/x`],
      ["relative", "relative"],
      ["http://169.254.169.254/latest", "http://169.254.169.254/latest"],
      ["/../../secrets", `${base}/secrets`],
      [`${base}/there`, `${base}/there`],
    ] as const;
    for (const [given, expected] of locations) {
      web.answer = (_message, response) => void response.writeHead(302, { location: given }).end();
      const answer = await world.ask("GET", `${base}/`);
      assert.deepEqual([answer.status, answer.headers["location"]], [302, expected]);
    }
    const page =
      '<!-- <a href="/c"> --><A HREF="/a?b=c">x</A><script>"<a href=/s>"</script><img src=/i/>';
    const changed = `<!-- <a href="/c"> --><A HREF="${base}/a?b=c">x</A><script>"<a href=/s>"</script><img src=${base}/i/>`;
    for (const encoding of ["", "gzip"]) {
      web.answer = (_message, response) => {
        const type = { "content-type": "text/html; charset=utf-8" };
        const head = encoding === "" ? type : { ...type, "content-encoding": encoding };
        response.writeHead(200, head);
        response.end(encoding === "" ? page : gzipSync(page));
      };
      const answer = await world.ask("GET", `${base}/page`);
      assert.equal(answer.text, changed);
      assert.equal(answer.headers["content-encoding"], undefined);
    }
    web.answer = undefined;
  });

  test("passes upgrades, without their query", async () => {
    const peer = await openWebSocket(world.socket(), `${services}/s:http/proxy/chat?token=x`, "");
    await peer.until((messages) => messages.length > 0);
    assert.equal(peer.messages()[0]?.toString(), "/chat");
    peer.destroy();
    await peer.closed;
    await allReleased(world);
  });

  test("of hollow nodes says what they are", async () => {
    const annotations = { "pilothouse.dev/hollow": "true" };
    await must(
      world.ask("POST", "/api/v1/nodes", { body: { metadata: { name: "h", annotations } } }),
    );
    await makePod(world, "shade", "h", { ip: "10.2.0.7" });
    const node = await world.ask("GET", "/api/v1/nodes/h/proxy/");
    assert.equal(node.message, "node h is hollow: there is no kubelet to proxy to");
    const pod = await world.ask("GET", `${podsPath}/shade/proxy/`);
    assert.equal(
      pod.message,
      "pod default/shade runs on hollow node h: there is no container to proxy",
    );
  });
});
