/** Joined views over HTTP: rights on every joined resource, 304 for a poller that has the table, and changes since a position. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectionPath } from "../../mirror/mirrored-kind.ts";
import { JoinedWorld } from "../../testing/joined-world.ts";
import { chosenObject, routedKinds } from "../../testing/routed-objects.ts";

/** `refused`: the one resource that no user may read. */
function doorOf(refused = ""): JoinedWorld {
  const world = new JoinedWorld({ isRefused: ({ resource }) => resource === refused });
  for (const [kind, mirrored] of routedKinds.entries())
    for (const which of [0, 1, 2])
      world.cluster.put(collectionPath(mirrored), chosenObject({ kind, which, variant: 0 }));
  return world;
}

void describe("a joined view at the door", () => {
  for (const { resource } of routedKinds) {
    void it(`is refused to a user without the right to one joined resource: ${resource}`, async () => {
      const door = doorOf(resource);
      const { status, text } = await door.get("/views/routes");
      assert.equal(status, 403, text);
      assert.ok(!text.includes("example.org"), "no row is shown");
      await door.stop();
    });
  }

  void it("is 304 to who has it, and whole after a change", async () => {
    const door = doorOf();
    const whole = await door.get("/views/routes");
    assert.equal(whole.status, 200, whole.text);
    const known = { "if-none-match": String(whole.headers["etag"]) };
    assert.equal((await door.get("/views/routes", known)).status, 304);
    door.cluster.remove(collectionPath(routedKinds[2]), "shop/o0");
    const next = await door.get("/views/routes", known);
    assert.equal(next.status, 200);
    assert.notEqual(next.text, whole.text);
    await door.stop();
  });

  void it("tells changes after its own X-Revision, and 410 after any other", async () => {
    const door = doorOf();
    const since = String((await door.get("/views/routes")).headers["x-revision"]);
    door.cluster.remove(collectionPath(routedKinds[2]), "shop/o0");
    const changes = await door.get(`/views/routes?since=${since}`);
    assert.equal(changes.status, 200, changes.text);
    assert.match(changes.text, /"deleted":\[\{/);
    for (const other of ["812-790-811-3", "x", `${since}0`, since.replace(/^./, "g")])
      assert.equal((await door.get(`/views/routes?since=${other}`)).status, 410, other);
    await door.stop();
  });
});
