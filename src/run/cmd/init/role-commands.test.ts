/** The command lines that `init` writes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { roleCommands } from "./role-commands.ts";
import type { Address, Settings } from "./settings.ts";

function commandsAt(hosts: readonly Address[], etcd = { authority: false, client: false }) {
  const settings: Settings = {
    replicas: hosts,
    etcdServers: ["https://a:1", "https://b:1"],
    bringsEtcd: false,
    healthPort: 10_257,
  };
  return roleCommands("/etc/p", settings, etcd);
}

function flags(words: readonly string[], pattern: RegExp): readonly string[] {
  return words.filter((word) => pattern.test(word));
}

void describe("the commands of replicas", () => {
  it("listen on their address, on loopback without advertising it, and for a name everywhere", () => {
    const hosts = ["10.0.0.1", "127.0.0.1", "::1", "api.example"].map((host) => ({
      host,
      port: 7,
    }));
    const servers = commandsAt(hosts).filter(({ words }) => words[0] === "apiserver");
    const listening = servers.map(({ words }) =>
      flags(words, /^--(bind|advertise)-address|^--secure/),
    );
    assert.deepEqual(listening, [
      ["--bind-address=10.0.0.1", "--secure-port=7", "--advertise-address=10.0.0.1"],
      ["--bind-address=127.0.0.1", "--secure-port=7"],
      ["--bind-address=::1", "--secure-port=7"],
      ["--bind-address=0.0.0.0", "--secure-port=7"],
    ]);
  });

  it("show etcd the credentials that are there", () => {
    const credentials = (etcd: { authority: boolean; client: boolean }): readonly string[] =>
      flags(commandsAt([{ host: "a", port: 1 }], etcd)[0]?.words ?? [], /^--etcd/);
    const servers = "--etcd-servers=https://a:1,https://b:1";
    const ca = "--etcd-cafile=/etc/p/pki/etcd-ca.crt";
    assert.deepEqual(credentials({ authority: false, client: false }), [servers]);
    assert.deepEqual(credentials({ authority: true, client: false }), [servers, ca]);
    assert.deepEqual(credentials({ authority: true, client: true }), [
      servers,
      ca,
      "--etcd-certfile=/etc/p/pki/etcd-client.crt",
      "--etcd-keyfile=/etc/p/pki/etcd-client.key",
    ]);
  });

  it("have health ports of their own where they share a machine", () => {
    const hosts = ["127.0.0.1", "10.0.0.1", "127.0.0.2", "10.0.0.1"];
    const commands = commandsAt(hosts.map((host, at) => ({ host, port: 6443 + at })));
    const ports = commands.flatMap(({ words, health }) =>
      words[0] === "apiserver" ? [] : [health.port],
    );
    assert.deepEqual(ports, [10_257, 10_259, 10_257, 10_259, 10_267, 10_269, 10_267, 10_269]);
  });
});
