/** The store's metrics over its port: what a put, a watch that is cut and a refusal leave behind, under etcd's names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { putRequest, putResponse } from "#wire/etcd-messages.ts";
import { EtcdClient } from "./client.ts";
import { startOurs } from "./testing/servers.ts";

async function samples(url: string): Promise<ReadonlyMap<string, number>> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const lines = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(" ");
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

const put = 'grpc_type="unary",grpc_service="etcdserverpb.KV",grpc_method="Put"';

test("a put is a call, a batch of the log and a commit; a refused one has its code", async (t) => {
  const server = await startOurs("memory");
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  const write = (key: string): Promise<unknown> =>
    client.call("/etcdserverpb.KV/Put", putRequest, putResponse, {
      key,
      value: Buffer.from("v"),
    });
  await write("a");
  await assert.rejects(write(""));
  const shown = await samples(server.url);
  assert.equal(shown.get(`grpc_server_started_total{${put}}`), 2);
  assert.equal(shown.get(`grpc_server_handled_total{${put},grpc_code="OK"}`), 1);
  assert.equal(shown.get(`grpc_server_handled_total{${put},grpc_code="InvalidArgument"}`), 1);
  assert.equal(shown.get(`grpc_server_handling_seconds_count{${put}}`), 2);
  assert.equal(shown.get(`grpc_server_msg_received_total{${put}}`), 2);
  assert.equal(shown.get(`grpc_server_msg_sent_total{${put}}`), 1);
  // The store writes a record of its own when it opens, before it is observed.
  assert.equal(shown.get("etcd_disk_wal_fsync_duration_seconds_count"), 1);
  assert.equal(shown.get("etcd_disk_backend_commit_duration_seconds_count"), 1);
  assert.equal(shown.get("etcd_server_leader_changes_seen_total"), 1);
  assert.equal(shown.get("etcd_server_has_leader"), 1);
  assert.equal(shown.get("etcd_server_proposals_pending"), 0);
  const received = shown.get("etcd_network_client_grpc_received_bytes_total") ?? 0;
  assert.ok(received > 100, `${received} bytes`);
});

test("a path that is no method makes no series", async (t) => {
  const server = await startOurs("memory");
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  const call = (path: string): Promise<unknown> =>
    client.call(path, putRequest, putResponse, { key: "a" });
  for (let i = 0; i < 20; i++) await assert.rejects(call(`/etcdserverpb.KV/Invented${i}`));
  const names = [...(await samples(server.url)).keys()];
  assert.deepEqual(
    names.filter((name) => name.includes("Invented")),
    [],
  );
});
