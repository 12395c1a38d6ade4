/** The flags about signing: which files sign for which signer, and what is refused before anything starts. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { makeAuthority } from "#auth/pki.ts";
import { signingOf } from "./signing.ts";
import { UsageError } from "./usage-error.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};

interface Pair {
  readonly cert: string;
  readonly key: string;
  readonly certificate: string;
  renew(): string;
}

function pairs(context: TestContext, ...names: readonly string[]): readonly Pair[] {
  const scratch = mkdtempSync(join(tmpdir(), "pilothouse-signing-"));
  context.after(() => rmSync(scratch, { recursive: true }));
  return names.map((name) => {
    const [cert, key] = [join(scratch, `${name}.crt`), join(scratch, `${name}.key`)];
    const renew = (): string => {
      const made = makeAuthority(name, issue);
      writeFileSync(cert, made.certificate);
      writeFileSync(key, made.privateKey, { mode: 0o600 });
      return made.certificate;
    };
    return { cert, key, certificate: renew(), renew };
  });
}

const clusterSigningDuration = 1_000;

test("each signer signs by its own files, as they are now; signers without any sign nothing", (context) => {
  const [serving, kubelet] = pairs(context, "serving", "kubelet");
  assert.ok(serving !== undefined && kubelet !== undefined);
  const { signingAuthority, signers } = signingOf({
    clusterSigningDuration,
    clusterSigningKubeletServingCertFile: serving.cert,
    clusterSigningKubeletServingKeyFile: serving.key,
    clusterSigningKubeletClientCertFile: kubelet.cert,
    clusterSigningKubeletClientKeyFile: kubelet.key,
  });
  const [first, second] = [
    "kubernetes.io/kubelet-serving",
    "kubernetes.io/kube-apiserver-client-kubelet",
  ];
  assert.deepEqual([...(signers ?? [])], [first, second]);
  assert.equal(signingAuthority?.(first ?? "").certificate, serving.certificate);
  assert.equal(signingAuthority?.(second ?? "").certificate, kubelet.certificate);
  const renewed = serving.renew();
  assert.equal(signingAuthority?.(first ?? "").certificate, renewed);
});

test("half a pair, a wrong pair, and files for all beside files for one are refused", (context) => {
  const [one, two] = pairs(context, "one", "two");
  assert.ok(one !== undefined && two !== undefined);
  const all = { clusterSigningCertFile: one.cert, clusterSigningKeyFile: one.key };
  const own = {
    clusterSigningLegacyUnknownCertFile: one.cert,
    clusterSigningLegacyUnknownKeyFile: one.key,
  };
  const wrong = [
    { clusterSigningKubeletServingCertFile: one.cert },
    { clusterSigningKubeApiserverClientKeyFile: one.key },
    { ...own, clusterSigningLegacyUnknownKeyFile: two.key },
    { ...all, ...own },
  ];
  for (const flags of wrong) {
    assert.throws(() => signingOf({ clusterSigningDuration, ...flags }), UsageError);
  }
  const { signers, signingAuthority } = signingOf({ clusterSigningDuration, ...all });
  assert.equal(signers, undefined);
  assert.equal(signingAuthority?.("any").certificate, one.certificate);
});
