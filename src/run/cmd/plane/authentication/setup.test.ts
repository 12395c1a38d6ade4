/** Flags of authentication that do not go together, and what kube-apiserver says of them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Command } from "commander";
import { addAuthenticationFlags, type AuthenticationFlags } from "./flags.ts";
import { authenticationSetup } from "./setup.ts";
import { tokenWebhookSetup } from "./token-webhook.ts";

const directory = mkdtempSync(join(tmpdir(), "pilothouse-authentication-flags-"));
after(() => rmSync(directory, { recursive: true }));
const config = join(directory, "config.yaml");
writeFileSync(
  config,
  `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: { enabled: true }
`,
);

/** Of one start. */
async function faultOf(flags: readonly string[]): Promise<string> {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addAuthenticationFlags(command);
  try {
    command.parse([...flags], { from: "user" });
    const given = command.opts<AuthenticationFlags>();
    await authenticationSetup(given, ["https://kubernetes.default.svc"]);
    await tokenWebhookSetup(given);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Flags, and what kube-apiserver 1.36.3 says of them. */
const refusals: readonly (readonly [flags: readonly string[], says: string])[] = [
  [
    ["--oidc-issuer-url=https://a"],
    "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
  ],
  [
    ["--oidc-username-claim=email"],
    "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
  ],
  [
    ["--oidc-issuer-url=http://a", "--oidc-client-id=a"],
    'invalid authentication configuration: jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https',
  ],
  [
    ["--oidc-issuer-url=https://a", "--oidc-client-id=a", "--oidc-signing-algs=EdDSA,RS256"],
    'oidc: unsupported signing alg: "EdDSA"',
  ],
  [
    ["--oidc-issuer-url=https://a", "--oidc-client-id=a", "--oidc-username-claim="],
    "invalid authentication configuration: jwt[0].claimMappings.username: Required value: claim or expression is required",
  ],
  [
    ["--oidc-issuer-url=https://a", "--oidc-client-id=a", "--oidc-required-claim=foo"],
    "malformed pair, expect string=string",
  ],
  [
    ["--authentication-config=CONFIG", "--oidc-issuer-url=https://a", "--oidc-client-id=a"],
    "authentication-config file and oidc-* flags are mutually exclusive",
  ],
  [
    ["--authentication-config=CONFIG", "--anonymous-auth=true"],
    "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file",
  ],
  [
    ["--oidc-issuer-url=https://kubernetes.default.svc", "--oidc-client-id=a"],
    "URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]",
  ],
  [
    ["--authentication-token-webhook-config-file=x", "--authentication-token-webhook-version=v3"],
    'unsupported authentication webhook version "v3", supported versions are "v1", "v1beta1"',
  ],
  [["--service-account-lookup=false"], "a token of a deleted account would be good until it ends"],
  [
    ["--authentication-config=nofile.yaml"],
    'failed to load authentication configuration from file "nofile.yaml": open nofile.yaml: no such file or directory',
  ],
];

for (const [flags, says] of refusals) {
  test(`refused: ${flags.join(" ")}`, async () => {
    const fault = await faultOf(flags.map((flag) => flag.replace("CONFIG", config)));
    assert.ok(fault.includes(says), fault);
  });
}

test("flags that go together are taken", async () => {
  const issuer = ["--oidc-issuer-url=https://a", "--oidc-client-id=b"];
  assert.equal(await faultOf([]), "");
  assert.equal(
    await faultOf([...issuer, "--oidc-required-claim=a=b", "--oidc-required-claim=c=d"]),
    "",
  );
  assert.equal(await faultOf([`--authentication-config=${config}`]), "");
});
