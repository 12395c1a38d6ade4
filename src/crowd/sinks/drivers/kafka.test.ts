/** What a record becomes in Kafka, and what a sink remembers there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KnownObject, SinkRecord } from "../sink-driver.ts";
import { messagesOf } from "./kafka-message.ts";
import { stateMessages, takeKnown, takePosition } from "./kafka-state.ts";

const options = { contentType: "application/json", tombstones: true };

function record(given: Partial<SinkRecord>): SinkRecord {
  return {
    type: "MODIFIED",
    source: "v1/pods",
    position: "7.1",
    key: "shop/a",
    uid: "u1",
    resourceVersion: "7",
    id: "u1/7",
    route: "k8s.pods",
    value: new TextEncoder().encode("{}"),
    ...given,
  };
}

test("an event has its object's key, and no partition of its own", () => {
  const [message, ...more] = messagesOf(record({}), options, 3);
  assert.deepEqual(more, []);
  assert.equal(message?.key, "shop/a");
  assert.equal(message?.partition, undefined);
  assert.equal(message?.value?.toString(), "{}");
  assert.deepEqual(message?.headers, {
    "pilothouse-type": "MODIFIED",
    "pilothouse-id": "u1/7",
    "pilothouse-resource-version": "7",
    "pilothouse-source": "v1/pods",
    "content-type": "application/json",
  });
});

test("a deletion is followed by a tombstone, unless it is one or they are not wanted", () => {
  const deleted = record({ type: "DELETED" });
  const [event, tombstone] = messagesOf(deleted, options, 3);
  assert.equal(event?.value?.toString(), "{}");
  assert.deepEqual(tombstone, { key: "shop/a", value: null });
  assert.equal(messagesOf(deleted, { ...options, tombstones: false }, 3).length, 1);
  const [bare, ...more] = messagesOf({ ...deleted, value: undefined }, options, 3);
  assert.equal(bare?.value, null);
  assert.equal(bare?.headers?.["pilothouse-type"], "DELETED");
  assert.deepEqual(more, []);
});

test("a mark goes into every partition, under a key that no object has; a position into none", () => {
  const marks = messagesOf(record({ type: "SNAPSHOT_END", key: "" }), options, 3);
  assert.deepEqual(
    marks.map(({ key, partition }) => [key, partition]),
    [0, 1, 2].map((partition) => ["/SNAPSHOT_END/v1/pods", partition]),
  );
  assert.deepEqual(messagesOf(record({ type: "POSITION", key: "" }), options, 3), []);
});

test("what is remembered is the newest of each object and of each position, whatever their names", () => {
  const odd = "v1/pods;labelSelector:a=b/c%2F";
  const messages = [
    ...stateMessages([
      record({ key: "shop/a/b" }),
      record({ resourceVersion: "8", position: "8.1" }),
    ]),
    ...stateMessages([record({ source: odd, key: "x", position: "begun" })]),
    ...stateMessages([record({ type: "DELETED", position: "9.1" })]),
    ...stateMessages([record({ key: "object/v1%2Fpods/a", uid: "u/2" })]),
  ];
  assert.equal(messages.length, 2 + 1 + 2 + 2 + 2);
  const positions = new Map<string, string>();
  const known = new Map<string, KnownObject>();
  for (const message of [...messages, { key: "session", value: "s" }, { key: "", value: null }]) {
    takePosition(positions, message);
    takeKnown(known, "v1/pods", message);
  }
  assert.deepEqual(
    [...positions],
    [
      ["v1/pods", "7.1"],
      [odd, "begun"],
    ],
  );
  assert.deepEqual(
    known,
    new Map([
      ["shop/a/b", { uid: "u1", resourceVersion: "7" }],
      ["object/v1%2Fpods/a", { uid: "u/2", resourceVersion: "7" }],
    ]),
  );
});
