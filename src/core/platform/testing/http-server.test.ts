/** The fake HTTP server answers as a ByteTransport must. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteTransportError, type ByteRequest } from "../byte-transport.ts";
import { FakeBodyStream, FakeHttpServer, jsonAnswer, wholeAnswer } from "./http-server.ts";

const request: ByteRequest = {
  method: "GET",
  target: "/a?b=c",
  headers: {},
  signal: new AbortController().signal,
};

const text = (bytes: Uint8Array | "too-large"): string =>
  bytes === "too-large" ? bytes : Buffer.from(bytes).toString();

void test("it keeps what it was asked, answers in whole, and refuses while it is down", async () => {
  const server = new FakeHttpServer(({ target }) => jsonAnswer(200, { target }));
  const answer = await server.send(request);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(text(await answer.read(1000)), '{"target":"/a?b=c"}');
  assert.equal(text(await answer.read(5)), "too-large");
  server.down = true;
  await assert.rejects(server.send(request), { code: "ECONNREFUSED" });
  assert.deepEqual(server.requests, [request, request]);
});

void test("a whole answer can be streamed, and holds for a slow reader", async () => {
  const read: string[] = [];
  await wholeAnswer(200, "body").stream(async (chunk) => {
    await Promise.resolve();
    read.push(text(chunk));
  });
  assert.deepEqual(read, ["body"]);
});

void test("a streamed body arrives chunk by chunk until it is ended, cut, or refused by its reader", async () => {
  const ends: readonly [(body: FakeBodyStream) => void, string][] = [
    [(body) => body.end(), "well"],
    [(body) => body.cut(), "ECONNRESET"],
    [(body) => body.send(Buffer.from("bad")), "refused"],
  ];
  for (const [end, expected] of ends) {
    const body = new FakeBodyStream();
    const read: string[] = [];
    const take = (chunk: Uint8Array): void => {
      if (text(chunk) === "bad") throw new Error("refused");
      read.push(text(chunk));
    };
    const over = body.response.stream(take).then(
      () => "well",
      (error: Error) => (error instanceof ByteTransportError ? error.code : error.message),
    );
    for (const chunk of ["one", "two"]) body.send(Buffer.from(chunk));
    assert.equal(body.over, false);
    end(body);
    body.send(Buffer.from("late"));
    assert.deepEqual([body.over, await over, read], [true, expected, ["one", "two"]]);
  }
});
