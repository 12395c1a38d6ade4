/** What `init` takes, what it refuses, and what it remembers. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { UsageError } from "../shared/usage-error.ts";
import {
  hostAndPort,
  type InitFlags,
  plainPath,
  settingsOf,
  settingsPath,
  settingsText,
} from "./settings.ts";

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "pilothouse-settings-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

async function replicas(out: string, flags: Omit<InitFlags, "out">): Promise<string> {
  return (await settingsOf({ out, etcdServers: ["https://a:1"], ...flags })).replicas
    .map(hostAndPort)
    .join(" ");
}

void describe("init's addresses", () => {
  const cases: readonly (readonly [Omit<InitFlags, "out">, string])[] = [
    [{}, "127.0.0.1:6443 127.0.0.1:6444 127.0.0.1:6445"],
    [{ replicas: 1 }, "127.0.0.1:6443"],
    [{ address: ["10.0.0.1", "10.0.0.2"] }, "10.0.0.1:6443 10.0.0.2:6443"],
    [
      { address: ["10.0.0.1", "10.0.0.1:7000", "10.0.0.1"] },
      "10.0.0.1:6443 10.0.0.1:7000 10.0.0.1:6444",
    ],
    [{ address: ["[FD00::1]:7", "fd00::2"] }, "[fd00::1]:7 [fd00::2]:6443"],
    [{ address: ["localhost"], replicas: 2 }, "127.0.0.1:6443 127.0.0.1:6444"],
    [{ address: ["API-0.example:1"], replicas: 2 }, "api-0.example:1 api-0.example:2"],
  ];
  for (const [flags, expected] of cases) {
    it(`${JSON.stringify(flags)} is ${expected}`, async (t) => {
      assert.equal(await replicas(directory(t), flags), expected);
    });
  }
});

void describe("init refuses what cannot stand in every file it writes", () => {
  const addresses = [
    "",
    " ",
    "a b",
    "a\nb",
    'a"b',
    "a'b",
    "$(id)",
    "a;b",
    "a%n",
    "-a",
    "a/b",
    "a@b",
    "1.2.3",
    "::",
    "[::]:1",
    "0.0.0.0",
    "fe80::1%eth0",
    "a:0",
    "a:65536",
    "a:b",
    "[a]:1",
    "10.0.0.1:1:2",
    "A".repeat(64),
    "ä",
  ];
  for (const address of addresses) {
    it(`--address ${JSON.stringify(address)}`, async (t) => {
      const flags = { out: directory(t), address: [address] };
      await assert.rejects(settingsOf(flags), isMistake(/--address .*: give HOST/));
    });
  }
  const servers = [
    "127.0.0.1:2379",
    "http://127.0.0.1:2379/a",
    "http://127.0.0.1:2379?a",
    "https://a b:1",
    "https://a:1\n",
    "https://u:p@a:1",
    "unix:///etcd",
    "https://${A}:1",
    "",
    'https://a":1',
  ];
  for (const server of servers) {
    it(`--etcd-servers ${JSON.stringify(server)}`, async (t) => {
      const flags = { out: directory(t), etcdServers: [server] };
      await assert.rejects(settingsOf(flags), isMistake(/--etcd-servers .*: give URLs/));
    });
  }
  it("two replicas at one address, and ports above the last", async (t) => {
    const out = directory(t);
    const twice = { out, address: ["10.0.0.1:1", "10.0.0.1:1"] };
    await assert.rejects(settingsOf(twice), isMistake(/two replicas cannot share it/));
    const above = { out, address: ["10.0.0.1:65535"], replicas: 2 };
    await assert.rejects(settingsOf(above), isMistake(/there is no such port/));
  });
  it("an etcd in the clear that is not on this machine", async (t) => {
    const flags = { out: directory(t), etcdServers: ["http://10.0.0.1:2379"] };
    await assert.rejects(settingsOf(flags), isMistake(/use https/));
  });
  it("replicas on several hosts without an etcd that all reach", async (t) => {
    const flags = { out: directory(t), address: ["10.0.0.1", "10.0.0.2"] };
    await assert.rejects(settingsOf(flags), isMistake(/--etcd-servers: replicas on several hosts/));
  });
  for (const out of ["a b", "a\nb", 'a"b', "a'b", "a$b", "a%b", "a:b", "a\\b", "a#b", "a\0b"]) {
    it(`--out ${JSON.stringify(out)}`, () => {
      assert.throws(() => plainPath(out, "--out"), isMistake(/use a path of letters/));
    });
  }
});

void describe("init's directory", () => {
  it("holds what an earlier run was given, and a later one may add to it", async (t) => {
    const out = directory(t);
    const first = {
      address: ["10.0.0.1", "10.0.0.2"],
      endpoint: "api.example",
      etcdServers: ["https://a:1"],
    };
    const settings = await settingsOf({ out, ...first, healthPort: 20_000 });
    writeFileSync(settingsPath(out), settingsText(settings));
    assert.deepEqual(await settingsOf({ out }), settings);
    const more = await settingsOf({ out, address: ["10.0.0.1", "10.0.0.2", "10.0.0.3"] });
    assert.deepEqual(more, {
      ...settings,
      replicas: [...settings.replicas, { host: "10.0.0.3", port: 6443 }],
    });
    await assert.rejects(settingsOf({ out, replicas: 1 }), isMistake(/there are 2 already/));
    await assert.rejects(
      settingsOf({ out, address: ["10.0.0.1"] }),
      isMistake(/there are 2 already/),
    );
  });

  it("is refused when it holds anything else", async (t) => {
    const out = directory(t);
    writeFileSync(join(out, "notes"), "");
    await assert.rejects(settingsOf({ out }), isMistake(/holds something else \(notes\)/));
    await assert.rejects(settingsOf({ out: join(out, "notes") }), isMistake(/cannot use --out/));
  });

  const spoiled = [
    "{",
    "{}",
    '{"layout":1,"address":[],"healthPort":1}',
    '{"layout":2,"address":[],"healthPort":1}',
    '{"layout":1,"address":[1],"healthPort":1}',
  ];
  for (const text of spoiled) {
    it(`is refused when init.json is ${text}`, async (t) => {
      const out = directory(t);
      writeFileSync(settingsPath(out), text);
      await assert.rejects(settingsOf({ out }), isMistake(/init\.json|JSON/));
    });
  }

  it("is checked again: an address that somebody wrote into init.json", async (t) => {
    const out = directory(t);
    writeFileSync(settingsPath(out), '{"layout":1,"address":["a\\nExecStart=x"],"healthPort":1}');
    await assert.rejects(settingsOf({ out }), isMistake(/--address/));
  });
});

function isMistake(text: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof UsageError && text.test(error.message);
}
