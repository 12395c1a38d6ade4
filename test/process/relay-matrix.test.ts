/**
 * The same GET to a relay and to its upstream: status, headers that matter and bodies are equal, but for
 * the differences named here. The upstream is ours; a stock server when the stock programs are given.
 */
import assert from "node:assert/strict";
import https from "node:https";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { type Server, type StockServer, startStock } from "../differential/servers.ts";
import { stockPrograms } from "./peers.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

interface Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Side {
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Exchange>;
}

const maps = "/api/v1/namespaces/default/configmaps";
const json = "application/json";
const protobuf = "application/vnd.kubernetes.protobuf";
const as = (kind: string, type = json, version = "v1"): string =>
  `${type};as=${kind};g=meta.k8s.io;v=${version}`;

const accepts = [
  json,
  "application/yaml",
  protobuf,
  "*/*",
  "",
  "text/plain",
  as("Table"),
  as("Table", json, "v1beta1"),
  as("Table", protobuf),
  as("Table", "application/yaml"),
  ...[json, "application/yaml", protobuf].flatMap((type) => [
    as("PartialObjectMetadata", type),
    as("PartialObjectMetadataList", type),
  ]),
  `${as("Nonsense")},${json}`,
];

/** Of the collection; `now` is a resourceVersion both have, `later` one nobody has reached. */
const queries = [
  "",
  "resourceVersion=0",
  "resourceVersion={now}",
  "resourceVersion={now}&resourceVersionMatch=Exact",
  "resourceVersion={now}&resourceVersionMatch=NotOlderThan",
  "resourceVersion=0&resourceVersionMatch=NotOlderThan",
  "resourceVersion=0&resourceVersionMatch=Exact",
  "resourceVersionMatch=Exact",
  "resourceVersion={now}&resourceVersionMatch=Nonsense",
  "resourceVersion=1&resourceVersionMatch=Exact",
  "resourceVersion=abc",
  "resourceVersion=-1",
  "limit=2",
  "limit=2&resourceVersion=0",
  "limit=2&resourceVersion={now}",
  "limit=-1",
  "limit=x",
  "continue=nonsense",
  "labelSelector=tier%3Da",
  "labelSelector=tier%20in%20(a,b),!none",
  "labelSelector=%21%21",
  "labelSelector=tier%3Da&limit=1",
  "fieldSelector=metadata.name%3Dm2",
  "fieldSelector=metadata.name%21%3Dm2",
  "fieldSelector=spec.nonsense%3D1",
  "fieldSelector=metadata.name",
  "pretty=true",
  "sendInitialEvents=true",
  "timeoutSeconds=x",
  "resourceVersion=0&pretty=1",
];

const watches = [
  "resourceVersion=0",
  "resourceVersion={first}",
  "resourceVersion={now}",
  "",
  "resourceVersion=0&labelSelector=tier%3Da",
  "resourceVersion=0&fieldSelector=metadata.name%3Dm2",
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0&allowWatchBookmarks=true",
  "sendInitialEvents=true",
  "resourceVersion=0&resourceVersionMatch=Exact",
  "resourceVersion=abc",
];

void describe("every form of read, at a relay and at its upstream", { timeout: 200_000 }, () => {
  const directory = temporaryDirectory("relay-matrix");
  const differences: string[] = [];
  let plane: Running | undefined;
  let stock: StockServer | undefined;
  let relay: RunningRelay;
  let here: Side;
  let there: Side;
  const moments = { first: "", now: "", later: "999999999" };

  before(async () => {
    const programs = stockPrograms();
    if (programs !== undefined) stock = await startStock(programs);
    else plane = await startUp(["--data-dir", directory, "--port", "0", "--nodes", "0"]);
    const kubeconfig = stock?.kubeconfig ?? plane?.kubeconfig ?? "";
    const pki = stock?.pki ?? `${directory}/pki`;
    const args = ["--resources", "configmaps"];
    relay = await startRelay({ kubeconfig, pki, directory, name: "relay", args });
    [here, there] = [side(relay.url), side(stock?.url ?? plane?.url ?? "")];
    for (let at = 0; at < 5; at++) await create(`m${at}`, at % 2 === 0 ? "a" : "b");
    // The relay has it all once it answers at the newest resourceVersion.
    moments.now = revisionOf(await there.get(maps));
    await here.get(`${maps}?resourceVersion=${moments.now}`);
  });
  after(async () => {
    await Promise.allSettled([relay?.kill(), stock?.stop(), plane?.kill()]);
    removeDirectory(directory);
  });

  function side(url: string): Side {
    const { agent, headers } = credentials();
    return {
      get: (path, more = {}, method = "GET") =>
        ask(agent, url + path, { ...headers, ...more }, method),
    };
  }

  function credentials(): Pick<Server, "headers"> & { readonly agent: https.Agent } {
    if (stock !== undefined) return stock as Server & { readonly agent: https.Agent };
    const { ca, cert, key } = credentialsOf(plane?.kubeconfig ?? "");
    return { headers: {}, agent: new https.Agent({ keepAlive: true, ca, cert, key }) };
  }

  async function create(name: string, tier: string): Promise<void> {
    const { agent, headers } = credentials();
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, labels: { tier } },
      data: { a: "1" },
    };
    const url = (stock?.url ?? plane?.url ?? "") + maps;
    const made = await ask(
      agent,
      url,
      { ...headers, "content-type": json },
      "POST",
      JSON.stringify(object),
    );
    assert.equal(made.status, 201, made.body.toString());
    if (moments.first === "") moments.first = revisionOf(made);
  }

  async function compare(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method = "GET",
  ): Promise<void> {
    const full = path.replaceAll(/\{(first|now|later)\}/g, (_, key: "now") => moments[key]);
    const [a, b] = await Promise.all([
      here.get(full, headers, method),
      there.get(full, headers, method),
    ]);
    const [shownHere, shownThere] = [shown(a), shown(b)];
    if (shownHere === shownThere) return;
    differences.push(
      `${method} ${full} ${JSON.stringify(headers)}\n  relay    ${shownHere}\n  upstream ${shownThere}`,
    );
  }

  function none(): void {
    assert.equal(differences.length, 0, `\n${differences.splice(0).join("\n")}`);
  }

  void it("is answered alike in every media type", async () => {
    for (const accept of accepts) {
      const headers = { accept };
      for (const path of [
        `${maps}/m2`,
        `${maps}/m2?resourceVersion=0`,
        maps,
        `${maps}?resourceVersion=0`,
      ]) {
        await compare(path, headers);
      }
      await compare(`${maps}/missing?resourceVersion=0`, headers);
    }
    none();
  });

  void it("is answered alike for every query", async () => {
    for (const query of queries) {
      await compare(`${maps}?${query}`);
      await compare(`${maps}?${query}`, { accept: protobuf });
      await compare(`${maps}?${query}`, { accept: as("Table") });
    }
    none();
  });

  void it("is answered alike for one object, missing ones, other methods, other users and compression", async () => {
    for (const version of ["", "0", "{now}", "abc"]) {
      await compare(`${maps}/m1?resourceVersion=${version}`);
      await compare(`${maps}/missing?resourceVersion=${version}`);
    }
    await compare(
      "/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.namespace%3Ddefault",
    );
    await compare(`${maps}?resourceVersion=0`, {}, "HEAD");
    await compare(`${maps}?resourceVersion=0`, { "accept-encoding": "gzip" });
    const nobody = { "impersonate-user": "nobody" };
    await compare(`${maps}?resourceVersion=0`, nobody);
    await compare(`${maps}/m1?resourceVersion=0`, nobody);
    await compare(`${maps}?watch=true&resourceVersion=0`, nobody);
    await compare(`${maps}?resourceVersion=0`, { "impersonate-group": "g" });
    none();
  });

  void it("is answered alike as a watch", async () => {
    const forms = [json, protobuf, as("Table"), as("PartialObjectMetadata"), "application/yaml"];
    const asked = watches.flatMap((query) => forms.map((accept) => ({ query, accept })));
    const run = ({ query, accept }: (typeof asked)[number]): Promise<void> =>
      compare(`${maps}?watch=true&timeoutSeconds=1&${query}`, { accept });
    await Promise.all(asked.map(run));
    none();
  });

  void it("goes on at the other with the continue token of one", async () => {
    const pages = [here, there];
    for (const [at, first] of pages.entries()) {
      const second = pages[1 - at] ?? here;
      const page = parsed(await first.get(`${maps}?limit=2`)) as Listed;
      const rest = await second.get(`${maps}?limit=9&continue=${page.metadata.continue}`);
      assert.equal(rest.status, 200, rest.body.toString());
      const names = [...page.items, ...(parsed(rest) as Listed).items].map(
        ({ metadata }) => metadata.name,
      );
      assert.deepEqual(
        names.filter((name) => name.startsWith("m")),
        ["m0", "m1", "m2", "m3", "m4"],
      );
    }
  });
});

interface Listed {
  readonly metadata: { readonly resourceVersion: string; readonly continue: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

function parsed({ body }: Exchange): unknown {
  return JSON.parse(body.toString());
}

function revisionOf(answer: Exchange): string {
  return (parsed(answer) as Listed).metadata.resourceVersion;
}

/**
 * What is compared. Left out on purpose: resourceVersions and continue tokens (each server's newest moment; that
 * tokens work at the other is a test of its own), the words in which columns are described, ages, order of
 * members, numbers in protobuf and YAML (resourceVersions again), when periodic bookmarks fall, the words in which groups without a user are refused.
 */
function shown({ status, headers, body }: Exchange): string {
  const type = headers["content-type"] ?? "";
  const kept = [
    "content-type",
    "vary",
    "cache-control",
    "content-encoding",
    "allow",
    "warning",
  ].map((name) => `${name}=${headers[name] ?? ""}`);
  return `${status} ${kept.join(" ")} ${bodyShown(type, body)}`;
}

function bodyShown(type: string, body: Buffer): string {
  if (!type.startsWith(json))
    return body
      .toString("latin1")
      .replaceAll(/"?[0-9]+"?/g, "N")
      .slice(0, 1500);
  const lines = body
    .toString()
    .split("\n")
    .filter((line) => line !== "");
  if (lines.length > 1 && !lines[0]?.startsWith('{"type"')) {
    return `pretty ${stable(JSON.parse(body.toString()))}`;
  }
  return lines
    .filter((line) => !isPeriodic(line))
    .map((line) => stable(JSON.parse(line)))
    .join("\n");
}

function isPeriodic(line: string): boolean {
  return line.startsWith('{"type":"BOOKMARK"') && !line.includes("initial-events-end");
}

function stable(value: unknown): string {
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key === "description" || key === "resourceVersion" || key === "continue") return "";
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text
    .replaceAll(/"[0-9]+s"/g, '"AGE"')
    .replaceAll(/current: [0-9]+/g, "current: N")
    .replaceAll(
      /"message":"(requested |impersonation of groups).*?(user|user name|impersonate)",/g,
      '"message":"no user",',
    );
}

function ask(
  agent: https.Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  method: string,
  body = "",
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const sent = https.request(
      url,
      { agent, headers, method, rejectUnauthorized: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const flat = Object.entries(response.headers).map(([k, v]) => [k, String(v)] as const);
          const whole = Buffer.concat(chunks);
          const zipped = response.headers["content-encoding"] === "gzip" && whole.length > 0;
          const bytes = zipped ? gunzipSync(whole) : whole;
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(flat),
            body: bytes,
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}
