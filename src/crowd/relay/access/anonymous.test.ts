/** Requests without credentials are what the upstream says they are. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeHttpServer, wholeAnswer } from "#platform/testing/http-server.ts";
import { AnonymousPaths, isNobody, nobodyAt } from "./anonymous.ts";
import { relayLimits } from "../limits.ts";

class World {
  readonly clock = new FakeClock();
  status = 401;
  readonly #http = new FakeHttpServer(() => wholeAnswer(this.status));
  readonly requests = this.#http.requests;
  readonly paths = new AnonymousPaths(
    { clock: this.clock, anonymousHttp: this.#http },
    relayLimits,
  );
}

describe("a request without credentials", () => {
  it("is asked about by a HEAD that shows none, and reads nothing", async () => {
    const world = new World();
    await world.paths.isAdmitted("/api/v1/namespaces/a b/pods");
    const [request] = world.requests;
    assert.equal(request?.method, "HEAD");
    assert.equal(request?.target, "/api/v1/namespaces/a%20b/pods");
    assert.deepEqual(request?.headers, {});
  });

  it("is refused where the upstream says 401, path by path, and asked about anew in time", async () => {
    const world = new World();
    assert.equal(await world.paths.isAdmitted("/a"), false);
    assert.equal(await world.paths.isAdmitted("/a"), false);
    assert.equal(world.requests.length, 1);
    for (const status of [200, 403, 404, 405]) {
      world.status = status;
      assert.equal(await world.paths.isAdmitted(`/${status}`), true);
    }
    await world.clock.advance(relayLimits.deniedMs);
    assert.equal(await world.paths.isAdmitted("/a"), true);
  });

  it("is not taken while the upstream has not said so", async () => {
    const world = new World();
    for (const status of [429, 500, 502, 503]) {
      world.status = status;
      await assert.rejects(world.paths.isAdmitted("/a"), /without credentials/);
    }
  });

  it("comes from nobody, whom no name makes", () => {
    assert.ok(isNobody(nobodyAt("10.0.0.1")));
    assert.ok(!isNobody({ name: "system:anonymous", groups: ["system:unauthenticated"] }));
  });
});
