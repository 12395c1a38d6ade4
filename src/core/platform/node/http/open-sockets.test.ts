/** Whom a connection is charged to, and what counts against the limit of open files. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { Ledger } from "../../ledger.ts";
import { silentLog } from "../../log.ts";
import { countDialed, processConnections } from "../process-connections.ts";
import { OpenSockets } from "./open-sockets.ts";

const limits = {
  callerBytesMax: 1_000_000,
  namespaceBytesMax: 1_000_000,
  totalBytesMax: 4_000_000,
  reservedBytes: 1_000,
  smallBytesMax: 10,
  sharedAnswerBytesMax: 1_000,
  accountsMax: 100,
};

async function listening(onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onSocket).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function dial(server: Server): Socket {
  return connect((server.address() as AddressInfo).port, "127.0.0.1");
}

const heldNames = (ledger: Ledger): readonly string[] => ledger.largest(9).map(({ name }) => name);

test("a connection is charged to its address, then to its user, and given back when it is closed", async () => {
  const ledger = new Ledger(limits);
  const hold = (caller: string) => ledger.open(caller);
  const sockets = new OpenSockets(silentLog, { isSecure: true, hold });
  const server = await listening((socket) => sockets.add(socket.resume()));
  const client = dial(server);
  const [socket] = (await once(server, "connection")) as [Socket];
  assert.deepEqual(heldNames(ledger), ["address:127.0.0.1"]);
  const held = ledger.held("connection");
  assert.ok(held >= 32 * 1024, `${held} bytes`);
  const account = sockets.accountOf(socket);
  account?.belongsTo("ann");
  assert.deepEqual(heldNames(ledger), ["user:ann"]);
  account?.belongsTo("bob");
  assert.deepEqual(ledger.largest(9), [{ name: "user:bob", bytes: held }]);
  assert.ok(ledger.open("user:bob").take("body", limits.callerBytesMax), "it refuses no request");
  client.destroy();
  await once(socket, "close");
  account?.belongsTo("carol");
  assert.equal(ledger.held("connection"), 0);
  server.close();
});

test("what this process dials counts until it is closed, whoever dials", async () => {
  countDialed();
  const server = await listening((socket) => socket.on("error", () => {}).resume());
  const before = processConnections.dialedCount;
  const sockets = [dial(server), dial(server)];
  assert.equal(processConnections.dialedCount, before + 2);
  for (const socket of sockets) {
    socket.destroy();
    await once(socket, "close");
  }
  assert.equal(processConnections.dialedCount, before);
  await new Promise((resolve) => {
    connect(1, "127.0.0.1")
      .on("error", () => {})
      .on("close", resolve);
  });
  assert.equal(processConnections.dialedCount, before);
  server.close();
});
