/**
 * Custom resources through a relay as processes: a definition is made, changed, deleted and made again while the
 * relay runs and clients read, by the Kubernetes face and by a view with ETags.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { type Answer, credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const group = "stable.example.com";
const name = `crontabs.${group}`;
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const cronTabs = `/apis/${group}/v1/namespaces/default/crontabs`;
const any = `${cronTabs}?resourceVersion=0`;
const views = `views:
  - name: tabs
    resource: ${name}
    namespaces: [default]
    text: "{.metadata.name}={.spec.image}+{.spec.team};"
`;
const asksMax = 20_000;

/** `more`: a field that older objects do not have, so that it is filled when they are read. */
function definition(image: string, more = {}): object {
  const properties = { image: { type: "string", default: image }, ...more };
  const spec = { type: "object", default: {}, properties };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const names = { plural: "crontabs", singular: "crontab", kind: "CronTab" };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: { group, scope: "Namespaced", names, versions },
  };
}

/** What a list says: its names and images, or why there is none. */
function said({ status, body }: Answer): string {
  if (status !== 200) return String(status);
  const items = (body["items"] ?? []) as unknown as readonly Json[];
  return items
    .map(
      (item) =>
        `${item["metadata"]?.["name"] as unknown as string}=${Object.values(item["spec"] ?? {}).join("+")}`,
    )
    .join(" ");
}

void describe("custom resources through pilothouse relay", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("relay-definitions");
  const dataDir = join(directory, "data");
  let plane: Running;
  let relay: RunningRelay;
  let admin: KubeHttp;
  let far: KubeHttp;

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
    admin = new KubeHttp(credentialsOf(plane.kubeconfig));
    relay = await relayWith("near", ["--resources", `configmaps,${name}`]);
    far = new KubeHttp(credentialsOf(relay.kubeconfig));
  });
  after(async () => {
    admin?.close();
    far?.close();
    await Promise.allSettled([relay?.kill(), plane?.kill()]);
    removeDirectory(directory);
  });

  function relayWith(name: string, args: readonly string[]): Promise<RunningRelay> {
    const { kubeconfig } = plane;
    const pki = join(dataDir, "pki");
    return startRelay({ kubeconfig, directory, name, pki, args });
  }

  async function write(method: string, path: string, body: object | undefined): Promise<void> {
    const { status, body: answer } = await admin.request(method, path, body);
    assert.ok(status < 300, JSON.stringify(answer));
  }

  async function make(image: string, objects: readonly string[]): Promise<void> {
    await write("POST", definitions, definition(image));
    await seen(admin, cronTabs, "");
    for (const object of objects) {
      const metadata = { name: object };
      const type = { apiVersion: `${group}/v1`, kind: "CronTab" };
      await write("POST", cronTabs, { ...type, metadata, spec: {} });
    }
  }

  /** Everything that was said until `wanted` was, each once. */
  async function seen(client: KubeHttp, path: string, wanted: string): Promise<readonly string[]> {
    const all: string[] = [];
    for (let ask = 0; ask < asksMax; ask++) {
      const text = said(await client.request("GET", path));
      if (all.at(-1) !== text) all.push(text);
      if (text === wanted) return all;
    }
    return assert.fail(`${wanted} was not said, but ${all.join(", ")}`);
  }

  /** Never anything but this any more. */
  async function stays(path: string, wanted: string): Promise<void> {
    for (let ask = 0; ask < 50; ask++) {
      assert.equal(said(await far.request("GET", path)), wanted);
    }
  }

  void it("are served once defined, as their definition has them, and never again as an old one had them", async () => {
    assert.equal(said(await far.request("GET", any)), "404");
    await make("first", ["a", "b"]);
    await seen(far, any, "a=first b=first");

    // Stored as `first`; what is new gets the new default.
    const path = `${definitions}/${name}`;
    const stored = (await admin.request("GET", path)).body;
    const team = { type: "string", default: "blue" };
    const changed = { ...definition("second", { team }), metadata: stored["metadata"] };
    await write("PUT", path, changed);
    await write("POST", cronTabs, {
      apiVersion: `${group}/v1`,
      kind: "CronTab",
      metadata: { name: "c" },
      spec: {},
    });
    // Who asks for the newest gets it, whatever the relay has heard.
    assert.equal(
      said(await far.request("GET", cronTabs)),
      "a=first+blue b=first+blue c=second+blue",
    );
    await seen(far, any, "a=first+blue b=first+blue c=second+blue");
    await stays(any, "a=first+blue b=first+blue c=second+blue");

    await write("DELETE", path, undefined);
    await seen(admin, cronTabs, "404");
    assert.equal(said(await far.request("GET", cronTabs)), "404");
    await seen(far, any, "404");
    await stays(any, "404");

    await make("third", ["d"]);
    const texts = await seen(far, any, "d=third");
    for (const text of texts) assert.match(text, /^(404|503|d=third|)$/);
    await stays(any, "d=third");
  });

  void it("are shown by a view as long as their definition is there, and never as an old one had them", async () => {
    const path = `${definitions}/${name}`;
    const file = join(directory, "views.yaml");
    writeFileSync(file, views);
    const viewing = await relayWith("viewing", ["--resources", "namespaces", "--views", file]);
    const client = new KubeHttp(credentialsOf(viewing.kubeconfig));
    const shown = async (): Promise<string> => {
      const { status, body } = await client.request("GET", "/views/tabs");
      return status === 200 ? String(body["text"]) : String(status);
    };
    /** Everything that is shown until `wanted` is; `told` is that, each once in a row. */
    const until = async (wanted: string, told: RegExp): Promise<void> => {
      const all: string[] = [];
      for (let ask = 0; ask < asksMax && all.at(-1) !== wanted; ask++) {
        const text = await shown();
        if (all.at(-1) !== text) all.push(text);
      }
      assert.match(all.join(" then "), told);
    };
    try {
      await until("d=third+;\n", /^(?:503 then )?d=third\+;\n$/);
      const stored = (await admin.request("GET", path)).body;
      const team = { type: "string", default: "green" };
      await write("PUT", path, { ...definition("third", { team }), metadata: stored["metadata"] });
      await until("d=third+green;\n", /^(?:d=third\+;\n then )?(?:503 then )?d=third\+green;\n$/);
      await write("DELETE", path, undefined);
      await seen(admin, cronTabs, "404");
      // The objects go before their definition does.
      await until("503", /^(?:d=third\+green;\n then )?(?: then )?503$/);
      for (let ask = 0; ask < 50; ask++) assert.equal(await shown(), "503");
    } finally {
      client.close();
      await viewing.kill();
    }
  });
});
