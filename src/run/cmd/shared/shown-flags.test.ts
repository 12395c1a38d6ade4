/** What /flagz shows of a command line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainRequest } from "#platform/http.ts";
import { flagzPage } from "#server/flagz.ts";
import { zPageResponse } from "#server/z-page.ts";
import { makeProgram } from "../program.ts";
import { processFlags } from "./shown-flags.ts";

/** The flags of a role that begins to run, and does nothing. */
async function flagsOf(
  role: string,
  ...args: readonly string[]
): Promise<Readonly<Record<string, string>>> {
  const program = makeProgram();
  program.commands.find((one) => one.name() === role)?.action(() => {});
  await program.parseAsync([role, ...args], { from: "user" });
  return processFlags();
}

const apiServerLine =
  "--etcd-servers https://a:2379,https://b:2379 --event-ttl 90m --secure-port 7000 --tls-cert-file /etc/server.crt --allow-privileged";

test("values are as upstream's programs print them", async () => {
  const flags = await flagsOf("apiserver", ...apiServerLine.split(" "));
  assert.equal(flags["etcd-servers"], "[https://a:2379,https://b:2379]");
  assert.equal(flags["event-ttl"], "1h30m0s");
  assert.equal(flags["secure-port"], "7000");
  assert.equal(flags["tls-cert-file"], "/etc/server.crt");
  assert.equal(flags["allow-privileged"], "true");
  assert.equal(flags["client-ca-file"], "");
  assert.equal(flags["version"], undefined);
});

test("of stock flags without effect those are shown that were given", async () => {
  assert.equal((await flagsOf("scheduler"))["v"], undefined);
  assert.equal((await flagsOf("scheduler", "--v=4"))["v"], "4");
  assert.equal((await flagsOf("scheduler"))["leader-elect"], "true");
});

test("every role's flags have text values", async () => {
  for (const role of ["apiserver", "up", "scheduler", "controller-manager"]) {
    const flags = await flagsOf(role);
    assert.ok(Object.keys(flags).length > 20, role);
    for (const [name, value] of Object.entries(flags))
      assert.ok(
        typeof value === "string" && !value.includes("object"),
        `${role} ${name}: ${value}`,
      );
  }
});

test("credentials of a URL are not shown, and a value cannot pass for further flags", () => {
  const flags = {
    "etcd-servers": "[https://root:s3cret@a:2379,http://key@b:2379]",
    name: "a\nauthorization-mode:[AlwaysAllow]",
    path: "/etc/a@b.crt",
  };
  const request = { headers: {}, query: "" } as unknown as PlainRequest; // nothing else is read
  const answer = zPageResponse(flagzPage("apiserver", flags), request);
  assert.equal(answer.kind, "bytes");
  const text = Buffer.concat(answer.kind === "bytes" ? answer.body : []).toString();
  assert.ok(!text.includes("s3cret") && !text.includes("key@"), text);
  assert.match(text, /\netcd-servers:\[https:\/\/CLASSIFIED@a:2379,http:\/\/CLASSIFIED@b:2379\]\n/);
  assert.doesNotMatch(text, /^authorization-mode/m);
  assert.match(text, /\npath:\/etc\/a@b\.crt\n/);
});
