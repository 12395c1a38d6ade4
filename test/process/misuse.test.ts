/** Errors at the start are one sentence with a non-zero exit, and damage nothing. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import {
  pilothouse,
  removeDirectory,
  startUp,
  temporaryDirectory,
  type CommandResult,
} from "./harness.ts";

const directory = temporaryDirectory("misuse");
after(() => removeDirectory(directory));

function assertOneSentence(result: CommandResult, expected: RegExp): void {
  assert.equal(result.code, 1, result.stderr);
  assert.match(result.stderr, expected);
  assert.doesNotMatch(result.stderr, /\n\s+at /, "a stack is not for users");
  assert.equal(result.stdout, "");
}

describe("pilothouse up", () => {
  test("refuses a busy port, names it and says what to do", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = String(typeof address === "object" ? address?.port : 0);
    const result = await inBackground([
      "up",
      "--port",
      port,
      "--data-dir",
      join(directory, "busy"),
    ]);
    assertOneSentence(result, new RegExp(`port ${port} is in use.*--port`));
    server.close();
  });

  test("refuses a directory that holds something else, and leaves it as it was", () => {
    const foreign = join(directory, "foreign");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "thesis.txt"), "years of work");
    const result = pilothouse(["up", "--port", "0", "--data-dir", foreign]);
    assertOneSentence(result, /thesis\.txt.*was not made by pilothouse.*--data-dir/);
    assert.deepEqual(readdirSync(foreign), ["thesis.txt"]);
  });

  test("refuses a data directory it cannot make", () => {
    const result = pilothouse(["up", "--port", "0", "--data-dir", "/dev/null/data"]);
    assertOneSentence(result, /cannot use data directory \/dev\/null\/data.*not a directory/);
  });

  test("refuses signing files that are no pair, and a root that is none, before anything is made", () => {
    const data = join(directory, "signing");
    const up = (...flags: readonly string[]): CommandResult =>
      pilothouse(["up", "--port", "0", "--data-dir", data, ...flags]);
    const text = join(directory, "text");
    writeFileSync(text, "no PEM");
    assertOneSentence(
      up("--cluster-signing-cert-file", text),
      /--cluster-signing-cert-file and --cluster-signing-key-file come together/,
    );
    assertOneSentence(
      up("--cluster-signing-cert-file", text, "--cluster-signing-key-file", text),
      /error reading CA cert file ".*text": expected 1 certificate, found 0/,
    );
    assertOneSentence(up("--root-ca-file", text), /--root-ca-file .*text: no certificate in PEM/);
    assertOneSentence(up("--advertise-address", "here"), /not an IP address/);
    assertOneSentence(up("--cluster-signing-duration", "1y"), /a duration is hours, minutes/);
    assertOneSentence(up("--anonymous-paths", "healthz"), /each path starts with a slash/);
    assert.equal(existsSync(data), false);
  });

  test("refuses a flag it does not know and a value out of range", () => {
    assertOneSentence(pilothouse(["up", "--prot", "1"]), /unknown option '--prot'/);
    assertOneSentence(
      pilothouse(["up", "--port", "70000"]),
      /port must be a whole number from 0 to 65535/,
    );
    assertOneSentence(pilothouse(["up", "--nodes", "-1"]), /count must be a whole number/);
    assertOneSentence(pilothouse(["upp"]), /unknown command 'upp'/);
  });

  test("ends with a sentence when the relay beside it cannot be had", () => {
    const up = ["up", "--port", "0", "--nodes", "0", "--data-dir", join(directory, "beside")];
    const address = pilothouse([...up, "--relay", "127.0.0.1:x"]);
    assertOneSentence(address, /--relay must be ADDRESS:PORT, not 127\.0\.0\.1:x/);
    const resource = [...up, "--relay", "127.0.0.1:0", "--relay-resources", "nosuch"];
    assertOneSentence(pilothouse(resource), /nosuch/);
  });

  test("takes a signal that comes twice, as from a terminal and its launcher, for one", async () => {
    const up = await startUp([
      "--port",
      "0",
      "--nodes",
      "0",
      "--data-dir",
      join(directory, "twice"),
    ]);
    up.child.kill("SIGTERM");
    const code = await up.stop();
    assert.equal(code, 0);
    assert.match(up.output(), /stopped/);
  });

  test("refuses a second process on the same directory; the first goes on and stops cleanly", async () => {
    const data = join(directory, "shared");
    const up = await startUp(["--port", "0", "--data-dir", data, "--nodes", "0"]);
    const second = await inBackground(["up", "--port", "0", "--data-dir", data]);
    assertOneSentence(second, /is in use by another pilothouse/);
    assert.equal(await up.stop(), 0, up.output());
    assert.match(up.output(), /stopped/);
  });

  test("keeps keys and the kubeconfig to their owner", () => {
    const data = join(directory, "shared");
    const modeOf = (...path: string[]): string =>
      (statSync(join(data, ...path)).mode & 0o777).toString(8);
    assert.equal(modeOf("kubeconfig"), "600");
    assert.equal(modeOf("pki"), "700");
    for (const name of readdirSync(join(data, "pki")).filter((file) => file.endsWith(".key"))) {
      assert.equal(modeOf("pki", name), "600", name);
    }
  });
});

test("--help teaches: commands, flags, examples", () => {
  const top = pilothouse(["--help"]);
  assert.equal(top.code, 0);
  assert.match(top.stdout, /up .*whole control plane/s);
  const up = pilothouse(["up", "--help"]);
  assert.match(up.stdout, /--data-dir[\s\S]*--port[\s\S]*--nodes[\s\S]*Examples:/);
});

/** Not `spawnSync`: the event loop must run while the other process meets our port or lock. */
async function inBackground(args: readonly string[]): Promise<CommandResult> {
  const { spawn } = await import("node:child_process");
  const { root } = await import("./harness.ts");
  const child = spawn(process.execPath, [join(root, "bin", "pilothouse.mjs"), ...args]);
  const result = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (result.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (result.stderr += chunk.toString()));
  const code = await new Promise<number>((resolve) =>
    child.on("exit", (status) => resolve(status ?? 128)),
  );
  return { code, ...result };
}
