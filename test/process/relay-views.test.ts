/**
 * The ETag face as its clients meet it: real processes, certificates, a service account's token, HTTP/1.1
 * and HTTP/2, one relay alone and one with serving workers; and docs/views.md, line by line.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  pilothouse,
  removeDirectory,
  root,
  run,
  startUp,
  temporaryDirectory,
  type Running,
} from "./harness.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const document = readFileSync(join(root, "docs", "views.md"), "utf8");
const views = /```yaml\n([\s\S]*?)```/.exec(document)?.[1] ?? "";
const configMapView = `
  - name: maps
    resource: configmaps
    namespaces: [default]
    labelSelector: poll=me
    text: "{.metadata.name}={.data.v};"
    zone: {path: .data.zone, minimum: 2}
`;
const configMaps = "/api/v1/namespaces/default/configmaps";
const path = "/views/maps";

interface Polled {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One connection. */
interface Poller {
  ask(what: Ask): Promise<Polled>;
  close(): void;
}

void describe("views of pilothouse relay", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("relay-views");
  const dataDir = join(directory, "demo");
  let plane: Running;
  let admin: KubeHttp;
  let alone: RunningRelay;
  let crowd: RunningRelay;
  let token = "";

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "2"]);
    admin = new KubeHttp(credentialsOf(plane.kubeconfig));
    for (const [at, v] of ["a", "b", "c"].entries()) await put(`m${at}`, v, at < 2 ? "z1" : "z2");
    const file = join(directory, "views.yaml");
    writeFileSync(file, views + configMapView);
    [alone, crowd] = await Promise.all([
      relayWith("alone", ["--views", file]),
      relayWith("crowd", ["--views", file, "--serving-workers", "2"]),
    ]);
    token = await tokenOf("poller");
    await grant("poller");
  });
  after(async () => {
    admin?.close();
    await Promise.allSettled([alone?.kill(), crowd?.stop(), plane?.kill()]);
    removeDirectory(directory);
  });

  function relayWith(name: string, args: readonly string[]): Promise<RunningRelay> {
    const pki = join(dataDir, "pki");
    const { kubeconfig } = plane;
    // The views' resources are mirrored without being named.
    const all = ["--resources", "namespaces", ...args];
    return startRelay({ kubeconfig, directory, name, pki, args: all });
  }

  function poller(protocol: "1.1" | "2", { url }: RunningRelay, bearer = token): Poller {
    const { ca } = credentialsOf(plane.kubeconfig);
    return protocol === "2" ? overHttp2(url, ca, bearer) : overHttp1(url, ca, bearer);
  }

  async function put(name: string, v: string, zone: string): Promise<void> {
    const metadata = { name, labels: { poll: "me" } };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { v, zone } };
    const { status } = await admin.request("PUT", `${configMaps}/${name}`, object);
    if (status !== 404) return assert.equal(status, 200);
    assert.equal((await admin.request("POST", configMaps, object)).status, 201);
  }

  async function tokenOf(name: string): Promise<string> {
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } };
    assert.equal((await admin.request("POST", accounts, account)).status, 201);
    const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { body } = await admin.request("POST", `${accounts}/${name}/token`, asked);
    return String(body["status"]?.["token"]);
  }

  async function grant(name: string): Promise<void> {
    const group = "rbac.authorization.k8s.io";
    const { status } = await admin.request("POST", `/apis/${group}/v1/clusterrolebindings`, {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: `${name}-may-view` },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    assert.equal(status, 201);
  }

  for (const protocol of ["1.1", "2"] as const) {
    void it(`answers a poller over HTTP/${protocol}: 200, 304, HEAD, codings, zones, a change`, async () => {
      const client = poller(protocol, alone);
      const first = await client.ask({});
      assert.equal(first.status, 200);
      assert.equal(String(first.body), "m0=a;\nm1=b;\nm2=c;\n");
      assert.equal(first.headers["x-count"], "3");
      const etag = String(first.headers["etag"]);
      const known = { headers: { "if-none-match": etag } };
      // Often enough for the short way of repeated polls.
      for (let times = 0; times < 5; times++) {
        const same = await client.ask(known);
        assert.deepEqual([same.status, same.headers["etag"], same.body.length], [304, etag, 0]);
      }
      const head = await client.ask({ method: "HEAD" });
      assert.deepEqual([head.status, head.headers["etag"], head.body.length], [200, etag, 0]);
      for (const [coding, unpack] of [
        ["gzip", gunzipSync] as const,
        ["zstd", zstdDecompressSync] as const,
      ]) {
        const packed = await client.ask({ headers: { "accept-encoding": coding } });
        assert.equal(packed.headers["content-encoding"], coding);
        assert.equal(packed.headers["etag"], etag.replace(/"$/, `+${coding}"`));
        assert.deepEqual(unpack(packed.body), first.body);
      }
      assert.equal(String((await client.ask({ path: `${path}/z1` })).body), "m0=a;\nm1=b;\n");
      assert.deepEqual((await client.ask({ path: `${path}/z2` })).body, first.body, "too few rows");
      const post = await client.ask({ method: "POST" });
      assert.deepEqual([post.status, post.headers["allow"]], [405, "GET, HEAD"]);

      await put("m2", protocol, "z2");
      const changed = await pollUntil(client, etag);
      assert.equal(String(changed.body), `m0=a;\nm1=b;\nm2=${protocol};\n`);
      await put("m2", "c", "z2");
      const back = await pollUntil(client, String(changed.headers["etag"]));
      assert.equal(back.headers["etag"], etag, "the content is back, and so is its name");
      client.close();
    });
  }

  void it("tells who asks for changes what changed, and who waits when something does", async () => {
    const client = poller("2", alone);
    const { headers } = await client.ask({});
    const revision = String(headers["x-revision"]);
    const waiting = client.ask({ path: `${path}?since=${revision}&wait=20s` });
    await put("m0", "new", "z1");
    const list: Json = JSON.parse(String((await waiting).body));
    assert.equal(list["kind"], "ChangeList");
    const names = (list["items"] as unknown as readonly Json[]).map((item) => item["name"]);
    assert.deepEqual(names, ["m0"]);
    await put("m0", "a", "z1");
    const old = await client.ask({ path: `${path}?since=1` });
    assert.equal(old.status, 410);
    client.close();
  });

  void it("streams changes to browsers", async () => {
    const { ca } = credentialsOf(plane.kubeconfig);
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
      const asked = httpsRequest(`${alone.url}${path}`, { ca, headers }, (response) => {
        assert.match(String(response.headers["content-type"]), /^text\/event-stream/);
        let all = "";
        response.on("data", (chunk: Buffer) => {
          if (all === "") void put("m1", "streamed", "z1").catch(reject);
          all += String(chunk);
          if (!all.includes("streamed")) return;
          asked.destroy();
          resolve(all);
        });
      });
      asked.on("error", reject).end();
    });
    assert.match(text, /event: ADDED\ndata: .*"m0"/);
    assert.match(text, /event: MODIFIED\nid: \d+\ndata: .*streamed/);
    await put("m1", "b", "z1");
  });

  void it("is for those who may list and watch; the others are told 401 and 403", async () => {
    const stranger = poller("1.1", alone, "no-such-token");
    assert.equal((await stranger.ask({})).status, 401);
    const other = poller("1.1", alone, await tokenOf("other"));
    const refused = await other.ask({});
    assert.equal(refused.status, 403);
    assert.match(String(refused.body), /cannot list resource .*configmaps/);
    assert.equal((await other.ask({ path: "/views/none" })).status, 404);
    stranger.close();
    other.close();
  });

  void it("names its content as every other replica does; an owner of workers follows no views", async () => {
    const one = poller("1.1", alone);
    const etag = String((await one.ask({})).headers["etag"]);
    // New connections until both workers were met.
    for (const protocol of ["1.1", "2", "1.1", "2"] as const) {
      const other = poller(protocol, crowd);
      const same = await other.ask({ headers: { "if-none-match": etag } });
      assert.equal(same.status, 304);
      other.close();
    }
    one.close();
    const http = new KubeHttp(credentialsOf(crowd.kubeconfig));
    const page = String((await http.request("GET", "/relay/metrics")).body["text"]);
    http.close();
    const rows = [...page.matchAll(/^relay_view_rows\{process="([^"]*)",view="maps"\} (\d+)$/gm)];
    const found = rows.map(([, who, count]) => `${who?.replace(/\d+/, "N")} ${count}`);
    assert.deepEqual(found, ["worker-N 3", "worker-N 3"]);
  });

  void it("says what is wrong with a file, and does not start", () => {
    const file = join(directory, "bad.yaml");
    writeFileSync(file, views.replace("resource: pods", "resources: pods"));
    const args = ["relay", "--upstream", plane.kubeconfig, "--views", file];
    const { code, stderr } = pilothouse(args);
    assert.notEqual(code, 0);
    assert.match(stderr, /bad\.yaml[\s\S]*line \d+: views\[0\]\.resources/);
    assert.doesNotMatch(stderr, /\n\s+at /, "no stack");
  });

  void it("does what docs/views.md says, line by line", (context) => {
    const kubectl = findKubectl();
    const curl = run("curl", ["--version"], {}).code === 0;
    if (kubectl === undefined) return context.skip(noKubectl);
    if (!curl) return context.skip("no curl on the PATH");
    const lines = /```\n(export KUBECONFIG[\s\S]*?)```/.exec(document)?.[1] ?? "";
    const { host } = new URL(alone.url);
    const marked = lines
      .replaceAll("127.0.0.1:6444", host)
      // The relay may be behind the plane: its rows are the six addresses, and stay so, from then on.
      .replace(/^poll -i \$url {2,}/m, `${untilSixAddresses}\n$&`)
      // Not for three seconds, but to the first event, whenever that comes.
      .replace(/^poll -N -m 3 (.*)$/m, "poll -N -m 60 $1")
      .replace(/^poll .*$/gm, (line) => `echo "=== ${line.replaceAll('"', "'")}"\n${line}`)
      // The new pod has no address at first: a change that leaves the rows as they are answers, too.
      .replace(/^poll "\$url\?since.*$/m, untilItems)
      .replace(/^poll -N .*$/m, (line) => `sed '/^data:/q' < <(exec 2>/dev/null; ${line}\n)`);
    const env = { ...kubectlEnvironment(plane.kubeconfig, directory), KUBECTL: kubectl };
    const shell = `set -u; kubectl() { command "$KUBECTL" "$@"; }\n${marked}`;
    const { stdout, stderr } = run("bash", ["-c", shell], { cwd: directory, env });
    const said = stdout.split(/^=== /m).slice(1);
    const expected = [
      /ETag: ".*-6"[\s\S]*"http:\/\/[\d.]+:8080";/i,
      /^poll .*\n(HTTP\S+) 304/i,
      /^poll .*\n(HTTP\S+) 200[\s\S]*content-length: \d/i,
      /^poll .*\ndemo-\S+: "http:\/\/[\d.]+:8080";\n/,
      /"kind":"ChangeList"[\s\S]*"items":\[\{/,
      /event: ADDED\ndata: \{/,
    ];
    assert.equal(said.length, expected.length, `${stdout}\n${stderr}`);
    expected.forEach((pattern, at) => assert.match(said[at] ?? "", pattern, stderr));
  });
});

const untilSixAddresses = `until [ "$(poll $url | grep -c http://)" = 6 ]; do :; done`;

/** `line`: a command that prints a ChangeList, with a comment behind it. */
function untilItems(line: string): string {
  const hasItems = `[[ $answer == *'"items":[{'* ]]`;
  return `until answer=$(${line}\n); ${hasItems}; do :; done; printf '%s\\n' "$answer"`;
}

/** Until the content is another than `etag`. */
async function pollUntil(client: Poller, etag: string): Promise<Polled> {
  const headers = { "if-none-match": etag };
  const answer = await client.ask({ path: `${path}?wait=20s`, headers });
  assert.equal(answer.status, 200);
  return answer;
}

function overHttp1(url: string, ca: Buffer, token: string): Poller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (what) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}`, ...what.headers };
        const options = { method: what.method ?? "GET", agent, ca, headers };
        httpsRequest(`${url}${what.path ?? path}`, options, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => {
            const { statusCode: status = 0, headers: of } = response;
            resolve({ status, headers: of, body: Buffer.concat(chunks) });
          });
        })
          .on("error", reject)
          .end();
      }),
    close: () => agent.destroy(),
  };
}

function overHttp2(url: string, ca: Buffer, token: string): Poller {
  const session = http2.connect(url, { ca });
  session.on("error", () => {});
  return {
    ask: (what) =>
      new Promise((resolve, reject) => {
        const stream = session.request(
          {
            ":method": what.method ?? "GET",
            ":path": what.path ?? path,
            authorization: `Bearer ${token}`,
            ...what.headers,
          },
          { endStream: true },
        );
        const chunks: Buffer[] = [];
        let head: Readonly<Record<string, unknown>> = {};
        stream.on("response", (headers) => (head = headers));
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", reject);
        stream.on("end", () => {
          resolve({ status: Number(head[":status"]), headers: head, body: Buffer.concat(chunks) });
        });
      }),
    close: () => session.destroy(),
  };
}
