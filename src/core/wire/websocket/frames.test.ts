/** WebSocket frames of clients are read however they are cut; what RFC 6455 forbids breaks the connection. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type WebSocketEvent, WebSocketReader } from "./frame-reader.ts";
import {
  closeFrame,
  handshakeAnswer,
  handshakeKey,
  messageFrame,
  offeredProtocols,
  pongFrame,
} from "./frames.ts";
import { clientFrame } from "./testing/client-frame.ts";

function readAll(chunks: readonly Uint8Array[]): readonly WebSocketEvent[] {
  const reader = new WebSocketReader();
  return chunks.flatMap((chunk) => reader.read(chunk));
}

/** `[` starts a message; cuts within one do not show. */
function shown(events: readonly WebSocketEvent[]): string {
  return events
    .map((event) => {
      if (event.kind === "piece") {
        const start = event.isFirst ? (event.isBinary ? "[" : "[text ") : "";
        return start + Buffer.from(event.bytes).toString("latin1");
      }
      if (event.kind === "ping") return `(ping ${Buffer.from(event.bytes).toString()})`;
      if (event.kind === "skipped") return ".";
      return event.kind === "close" ? `(close ${event.code})` : `(${event.reason})`;
    })
    .join("");
}

test("messages mean the same however they are cut", () => {
  const bytes = Buffer.concat([
    clientFrame(2, Buffer.from("hello ")),
    clientFrame(1, Buffer.from("to"), { isFinal: false }),
    clientFrame(9, Buffer.from("there?")),
    clientFrame(0, Buffer.from("day")),
    clientFrame(2, Buffer.alloc(0)),
    clientFrame(2, Buffer.alloc(300, "x")),
    clientFrame(2, Buffer.alloc(70_000, "y")),
    clientFrame(10, Buffer.from("a pong nobody waits for")),
    clientFrame(8, Uint8Array.of(3, 0xe8)),
    clientFrame(2, Buffer.from("after the close")),
  ]);
  const x = "x".repeat(300);
  const y = "y".repeat(70_000);
  const whole = shown(readAll([bytes]));
  assert.equal(whole, `[hello [text to(ping there?)day[[${x}[${y}(close 1000)`);
  for (const cut of [1, 2, 3, 5, 7, 11, 13, 1000]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, index) =>
      bytes.subarray(index * cut, (index + 1) * cut),
    );
    assert.equal(shown(readAll(chunks)), whole, `cut every ${cut} bytes`);
  }
});

test("what RFC 6455 forbids a client breaks the connection, and nothing is read after it", () => {
  const huge = Uint8Array.of(0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4);
  const cases: readonly (readonly [string, Uint8Array])[] = [
    ["a frame of a client is not masked", Buffer.concat(messageFrame(true, Buffer.from("x")))],
    ["a reserved bit is set", Uint8Array.of(0xc2, 0x80, 0, 0, 0, 0)],
    ["an opcode is unknown", Uint8Array.of(0x83, 0x80, 0, 0, 0, 0)],
    ["an opcode is unknown", Uint8Array.of(0x8b, 0x80, 0, 0, 0, 0)],
    ["a control frame is fragmented", Uint8Array.of(0x09, 0x80, 0, 0, 0, 0)],
    ["a control frame is too long", Uint8Array.of(0x89, 0xfe, 0, 200, 0, 0, 0, 0)],
    ["a frame continues nothing", Uint8Array.of(0x80, 0x80, 0, 0, 0, 0)],
    ["a close code is one byte", clientFrame(8, Uint8Array.of(3))],
    ["a frame is too long", huge],
  ];
  for (const [reason, bytes] of cases) {
    const events = readAll([bytes, clientFrame(2, Buffer.from("more"))]);
    assert.deepEqual(events, [{ kind: "broken", reason }]);
  }
  const within = readAll([
    clientFrame(2, Buffer.from("a"), { isFinal: false }),
    clientFrame(1, Buffer.from("b")),
  ]);
  assert.equal(shown(within), "[a(a message starts within another)");
});

test("a frame as long as a head can say is passed on, and never kept", () => {
  const reader = new WebSocketReader();
  assert.deepEqual(
    reader.read(Uint8Array.of(0x82, 0xff, 0, 0x0f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
    [],
  );
  const events = reader.read(new Uint8Array(65_536));
  assert.equal(events[0]?.kind === "piece" && events[0].bytes.length, 65_536);
});

test("the server's frames and handshake are those of RFC 6455", () => {
  assert.deepEqual(
    Array.from(Buffer.concat(messageFrame(false, Buffer.from("Hello")))),
    [0x81, 5, 72, 101, 108, 108, 111],
  );
  assert.deepEqual([...(messageFrame(true, new Uint8Array(256))[0] ?? [])], [0x82, 126, 1, 0]);
  assert.deepEqual(
    [...(messageFrame(true, new Uint8Array(65_536))[0] ?? [])],
    [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0],
  );
  assert.deepEqual(Array.from(Buffer.concat(closeFrame(1000))), [0x88, 2, 3, 0xe8]);
  assert.deepEqual(Array.from(Buffer.concat(pongFrame(new Uint8Array(0)))), [0x8a, 0]);
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  const headers = {
    "sec-websocket-key": key,
    "sec-websocket-version": "13",
    "sec-websocket-protocol": "a, b",
  };
  assert.equal(handshakeKey(headers), key);
  assert.equal(handshakeKey({ ...headers, "sec-websocket-version": "8" }), undefined);
  assert.equal(handshakeKey({ ...headers, "sec-websocket-key": `${key}\r\nx: y` }), undefined);
  assert.deepEqual(offeredProtocols(headers), ["a", "b"]);
  assert.equal(handshakeAnswer(key, "")["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});
