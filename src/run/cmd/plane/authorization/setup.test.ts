/** Flags of authorization that do not go together, and what kube-apiserver says of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { addAuthorizationFlags, type AuthorizationFlags } from "./flags.ts";
import { authorizationSetup } from "./setup.ts";

async function namesOf(flags: readonly string[]): Promise<readonly string[]> {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addAuthorizationFlags(command);
  command.parse([...flags], { from: "user" });
  const { first } = await authorizationSetup(command.opts<AuthorizationFlags>());
  return first.map(({ name }) => name);
}

/** Flags, and what kube-apiserver 1.36.3 says of them; but for ABAC, which is refused by name. */
const refusals: readonly (readonly [flags: readonly string[], says: string])[] = [
  [["--authorization-mode=Foo,RBAC"], 'authorization-mode "Foo" is not a valid mode'],
  [
    ["--authorization-mode=RBAC,RBAC"],
    'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
  ],
  [
    ["--authorization-mode=Webhook"],
    "authorization-mode Webhook's authorization config file not passed",
  ],
  [
    ["--authorization-mode=RBAC", "--authorization-webhook-config-file=kc"],
    "cannot specify --authorization-webhook-config-file without mode Webhook",
  ],
  [["--authorization-mode=ABAC"], "authorization-mode ABAC: it is not served here"],
  [
    ["--authorization-config=x", "--authorization-mode=RBAC"],
    "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
  ],
  [["--authorization-config=nofile.yaml"], "open nofile.yaml: no such file or directory"],
];

for (const [flags, says] of refusals) {
  test(`refused: ${flags.join(" ")}`, async () => {
    await assert.rejects(namesOf(flags), (error: Error) => error.message.includes(says));
  });
}

test("modes are taken in their order; without any they are Node and RBAC", async () => {
  assert.deepEqual(await namesOf([]), ["node", "rbac"]);
  const all = "--authorization-mode=AlwaysDeny,RBAC,Node,AlwaysAllow";
  assert.deepEqual(await namesOf([all]), ["alwaysdeny", "rbac", "node", "alwaysallow"]);
});
