/**
 * A proxyless client in a process of its own, because its library has no end: calls one after the other,
 * and prints an answer that differs from the last, or the error of a call.
 */
import { Client, credentials } from "@grpc/grpc-js";
import { register } from "@grpc/grpc-js-xds";

const same = (bytes: Buffer): Buffer => bytes;
const [target = ""] = process.argv.slice(2);
register();
const client = new Client(target, credentials.createInsecure());

function ask(): Promise<string> {
  const deadline = Date.now() + 20_000;
  return new Promise((resolve) =>
    client.makeUnaryRequest(
      "/test.Echo/Who",
      same,
      same,
      Buffer.alloc(0),
      { deadline },
      (error, answer) => resolve(error === null ? String(answer) : `error: ${error.message}`),
    ),
  );
}

for (let last = ""; ;) {
  const now = await ask();
  if (now !== last) process.stdout.write(`${now}\n`);
  last = now;
  // A call that no route fits fails at once: without a turn of the loop nothing new would ever be read.
  await new Promise((resolve) => setTimeout(resolve, 5));
}
