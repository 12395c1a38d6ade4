/** The byte transport to one server: answers that break. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { byteResponse } from "./http-client.ts";

test("an answer that broke before anybody read it is an error, not a stream that never ends", async (t) => {
  const server = createServer((_request, response) => {
    response.flushHeaders();
    response.socket?.end();
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const sent = request({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  sent.end();
  const [incoming] = (await once(sent, "response")) as [IncomingMessage];
  await new Promise((resolve) => incoming.on("close", resolve)); // and nobody hears of an error
  const response = byteResponse(incoming);
  await assert.rejects(
    response.stream(() => {}),
    { code: "ECONNRESET" },
  );
  await assert.rejects(response.read(100), { code: "ECONNRESET" });
});
