/** A server that starts over a store with definitions serves them before it is ready. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import { ask, openPlane } from "#apiserver/testing/plane.ts";
import { silentLog } from "#platform/log.ts";
import { cronTab, cronTabDefinition, cronTabs, definitionsPath } from "../testing/plane.ts";
import { serveDefinitions } from "./definitions.ts";

test("what is stored is served when the call returns, and settled without a client", async () => {
  const plane = await openPlane();
  const { clock, registry } = plane;
  const { catalog } = plane.server;
  await ask(plane, "POST", definitionsPath, { body: cronTabDefinition() });
  const deps = { clock, log: silentLog, registry, catalog, convertedBytesMax: 2 ** 20 };
  const first = serveDefinitions(deps, builtinResources());
  const path = `${definitionsPath}/crontabs.stable.example.com`;
  while (!(await ask(plane, "GET", path)).text.includes("InitialNamesAccepted")) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await ask(plane, "POST", cronTabs, { body: cronTab("a") })).status, 201);
  await first.close();
  const before = (await ask(plane, "GET", path)).json.metadata?.resourceVersion;
  const again = serveDefinitions(deps, builtinResources());
  const shown = await ask(plane, "GET", `${cronTabs}/a`);
  assert.deepEqual(shown.json["spec"], { cronSpec: "* * * * *", image: "busybox" });
  await again.close();
  const after = (await ask(plane, "GET", path)).json.metadata?.resourceVersion;
  assert.equal(after, before, "a settled definition is not written again");
  await plane.close();
});
