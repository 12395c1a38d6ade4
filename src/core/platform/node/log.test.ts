/** The log of a process whose standard error nobody reads. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

const logModule = new URL("log.ts", import.meta.url).href;

function start(script: string) {
  const code = `import { nodeLog } from ${JSON.stringify(logModule)};
    const log = nodeLog({ level: "info", destination: 2 });
    ${script}`;
  const args = ["--input-type=module-typescript", "--eval", code];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
}

function untilText(stream: NodeJS.ReadableStream, wanted: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (wanted.test(text)) resolve(text);
    });
    stream.on("end", () => reject(new Error(`it ended with ${JSON.stringify(text.slice(-200))}`)));
  });
}

test("lines that nobody reads hold neither the loop nor the memory", async () => {
  const child = start(`
    const line = "x".repeat(1_000);
    for (let one = 0; one < 20_000; one++) log.warn(line);
    setTimeout(() => process.stdout.write("alive " + process.memoryUsage().external + "\\n"), 300);
    setInterval(() => log.warn(line), 10);`);
  child.stderr.pause();
  const text = await untilText(child.stdout, /alive \d+/);
  child.kill("SIGKILL");
  assert.ok(Number(/alive (\d+)/.exec(text)?.[1]) < 30_000_000, text);
});

test("the last lines are written when the process ends by itself", async () => {
  const child = start(`log.warn("one"); log.error("two"); process.exit(3);`);
  // A line whose writing had begun may come behind those that waited.
  const both = /^(?=[^]*"msg":"one"\}\n)(?=[^]*"msg":"two"\}\n)/;
  assert.match(await untilText(child.stderr, both), both);
});
