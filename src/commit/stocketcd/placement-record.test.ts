/** The record of where resources are: written once, changed only when told to, and refused when broken. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startOurs, type TestServer } from "#etcd/testing/servers.ts";
import { checkPlacement } from "./placement-record.ts";

const root = "/registry/";
const key = `${root}pilothouse-placement`;
let server: TestServer;
let client: EtcdClient;

before(async () => {
  server = await startOurs("memory");
  client = new EtcdClient(server.url);
});
beforeEach(() => client.deleteRange({ key }));
after(async () => {
  client.close();
  await server.close();
});

const events = new Map([["/events", "a1"]]);
const eventsElsewhere = new Map([["/events", "b2"]]);

function check(placed: ReadonlyMap<string, string>, isAccepted = false) {
  return checkPlacement(client, root, placed, isAccepted);
}

test("a cluster whose resources are all in one place is not written to", async () => {
  assert.deepEqual(await check(new Map()), []);
  assert.deepEqual((await client.range({ key })).kvs, []);
});

test("the first entries are remembered, and what differs from them is told", async () => {
  assert.deepEqual(await check(events), []);
  assert.deepEqual(await check(events), []);
  assert.deepEqual(await check(eventsElsewhere), [{ name: "/events", was: "a1", now: "b2" }]);
  assert.deepEqual(await check(new Map()), [{ name: "/events", was: "a1", now: undefined }]);
  assert.deepEqual(await check(events), []);
});

test("what is accepted is remembered instead", async () => {
  await check(events);
  assert.deepEqual(await check(eventsElsewhere, true), []);
  assert.deepEqual(await check(eventsElsewhere), []);
  assert.deepEqual(await check(events), [{ name: "/events", was: "b2", now: "a1" }]);
});

test("of servers that start at once with different entries one is told", async () => {
  const found = await Promise.all([check(events), check(eventsElsewhere)]);
  assert.deepEqual(
    found.map((moved) => moved.length).toSorted((a, b) => a - b),
    [0, 1],
  );
});

for (const broken of [
  "",
  "no",
  "7",
  "null",
  "[]",
  "[1]",
  '{"/events":1}',
  '{"/events":{"__proto__":1}}',
])
  test(`a record of ${JSON.stringify(broken)} is refused, and stays`, async () => {
    await client.put({ key, value: Buffer.from(broken) });
    await assert.rejects(check(events, true), /no record of where resources are/);
    const { kvs } = await client.range({ key });
    assert.equal(Buffer.from(kvs[0]?.value ?? []).toString(), broken);
  });
