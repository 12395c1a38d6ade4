/**
 * Records what a stock kube-controller-manager signs: certificate requests made by openssl, and the
 * certificates or Failed conditions that come of them, as JSON on standard output.
 *
 *   KCM=/path/kube-controller-manager node test/attacks/record-signatures.ts > src/gate/auth/testdata/stock-signatures.json
 *
 * Needs kube-apiserver, kube-controller-manager and openssl. Not a test: signing.test.ts reads the record.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { given } from "#base/given.ts";
import { findPeer } from "../process/peers.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { startApiServer, type StockApiServer } from "../process/stock-apiserver.ts";
import { startStore } from "../process/store-harness.ts";

interface Case {
  readonly name: string;
  readonly signer: string;
  readonly key: readonly string[];
  /** Lines of openssl's [dn] section. */
  readonly subject: readonly string[];
  /** Lines of openssl's [ext] section. */
  readonly extensions?: readonly string[];
  readonly usages: readonly string[];
  readonly seconds?: number;
  readonly digest?: string;
}

const ec = (curve: string): readonly string[] => ["EC", "-pkeyopt", `ec_paramgen_curve:${curve}`];
const rsa = (bits: number): readonly string[] => ["RSA", "-pkeyopt", `rsa_keygen_bits:${bits}`];
const p256 = ec("P-256");
const client = "kubernetes.io/kube-apiserver-client";
const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
const node = ["O=system:nodes", "CN=system:node:n1"];
const clientUsages = ["digital signature", "client auth"];
const servingUsages = ["digital signature", "server auth"];
const hosts = ["subjectAltName=DNS:n1,IP:192.0.2.1"];

const cases: readonly Case[] = [
  { name: "kubelet-client", signer: kubelet, key: p256, subject: node, usages: clientUsages },
  {
    name: "kubelet-client-rsa",
    signer: kubelet,
    key: rsa(2048),
    subject: node,
    usages: [...clientUsages, "key encipherment"],
    seconds: 3600,
  },
  {
    name: "kubelet-serving",
    signer: serving,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=DNS:n1,IP:192.0.2.1,DNS:n1.example.com,IP:2001:db8::1"],
    usages: servingUsages,
    seconds: 28799,
  },
  {
    name: "kubelet-serving-rsa",
    signer: serving,
    key: rsa(2048),
    subject: node,
    extensions: ["subjectAltName=IP:192.0.2.1"],
    usages: [...servingUsages, "key encipherment"],
    seconds: 28800,
  },
  {
    name: "user-all-names",
    signer: client,
    key: p256,
    subject: [
      "0.C=DE",
      "1.C=AT",
      "ST=Land",
      "L=Stadt",
      "street=Weg 1",
      "postalCode=12345",
      "0.O=ops",
      "1.O=dev & co",
      "0.OU=b",
      "1.OU=a",
      "0.CN=first",
      "1.CN=jané",
      "serialNumber=77",
      "emailAddress=jane@example.com",
      "title=Dr",
      "UID=u1",
    ],
    extensions: [
      "subjectAltName=URI:spiffe://a/b,email:jane@example.com,IP:192.0.2.9,DNS:a.example.com,dirName:dn2,RID:1.2.3.4",
    ],
    usages: ["client auth"],
  },
  {
    name: "user-rdn-of-many",
    signer: client,
    key: p256,
    subject: ["0.O=b", "+0.OU=z", "CN=joe@example.com", "+1.O=a"],
    usages: [...clientUsages, "key encipherment"],
    seconds: 600,
  },
  {
    name: "user-no-subject",
    signer: client,
    key: p256,
    subject: [],
    extensions: ["subjectAltName=DNS:a"],
    usages: ["client auth"],
    seconds: 601,
  },
  {
    name: "user-nothing",
    signer: client,
    key: p256,
    subject: [],
    usages: ["client auth"],
  },
  {
    name: "user-wants-to-be-an-authority",
    signer: client,
    key: p256,
    subject: ["CN=ca"],
    extensions: [
      "basicConstraints=critical,CA:TRUE,pathlen:3",
      "keyUsage=keyCertSign",
      "1.2.3.4=DER:0500",
    ],
    usages: clientUsages,
    seconds: 2147483647,
  },
  ...(
    [
      ["p224", ec("P-224")],
      ["p384", ec("P-384")],
      ["p521", ec("P-521")],
      ["p256k1", ec("secp256k1")],
      ["p256-explicit", [...p256, "-pkeyopt", "ec_param_enc:explicit"]],
      ["ed25519", ["ED25519"]],
      ["rsa512", rsa(512)],
      ["rsa1023", rsa(1023)],
      ["rsa1024", rsa(1024)],
      ["rsa4096", rsa(4096)],
    ] as const
  ).map(([name, key]): Case => ({
    name: `key-${name}`,
    signer: client,
    key,
    subject: [`CN=${name}`],
    usages: ["client auth"],
    seconds: 3600,
  })),
  {
    name: "digest-sha1",
    signer: client,
    key: rsa(2048),
    subject: ["CN=a"],
    usages: ["client auth"],
    digest: "-sha1",
  },
  {
    name: "digest-sha384",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    usages: ["client auth"],
    digest: "-sha384",
  },
  {
    name: "digest-md5",
    signer: client,
    key: rsa(2048),
    subject: ["CN=a"],
    usages: ["client auth"],
    digest: "-md5",
  },
  {
    name: "san-of-unknown-kinds",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    extensions: ["subjectAltName=RID:1.2.3.4"],
    usages: ["client auth"],
  },
  {
    name: "san-critical",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    extensions: ["subjectAltName=critical,DNS:a"],
    usages: ["client auth"],
  },
  {
    name: "san-strange-names",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    extensions: ["subjectAltName=DNS:*.example.com,DNS:a b,DNS:x_y"],
    usages: ["client auth"],
  },
  {
    name: "san-ip-of-three-octets",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    extensions: ["2.5.29.17=DER:30:05:87:03:01:02:03"],
    usages: ["client auth"],
  },
  {
    name: "san-ip-mapped",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    extensions: ["subjectAltName=IP:::ffff:192.0.2.1"],
    usages: ["client auth"],
  },
  // What the signers refuse.
  {
    name: "kubelet-client-no-org",
    signer: kubelet,
    key: p256,
    subject: ["CN=system:node:n1"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-two-orgs",
    signer: kubelet,
    key: p256,
    subject: ["0.O=system:nodes", "1.O=system:masters", "CN=system:node:n1"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-dns",
    signer: kubelet,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=DNS:n1"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-email",
    signer: kubelet,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=email:a@b.c"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-ip",
    signer: kubelet,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=IP:192.0.2.1"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-uri",
    signer: kubelet,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=URI:https://a"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-name",
    signer: kubelet,
    key: p256,
    subject: ["O=system:nodes", "CN=n1"],
    usages: clientUsages,
  },
  {
    name: "kubelet-client-server-auth",
    signer: kubelet,
    key: p256,
    subject: node,
    usages: [...clientUsages, "server auth"],
  },
  {
    name: "kubelet-client-few-usages",
    signer: kubelet,
    key: p256,
    subject: node,
    usages: ["client auth"],
  },
  {
    name: "serving-no-org",
    signer: serving,
    key: p256,
    subject: ["CN=system:node:n1"],
    extensions: hosts,
    usages: servingUsages,
  },
  { name: "serving-no-hosts", signer: serving, key: p256, subject: node, usages: servingUsages },
  {
    name: "serving-email",
    signer: serving,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=DNS:n1,email:a@b.c"],
    usages: servingUsages,
  },
  {
    name: "serving-uri",
    signer: serving,
    key: p256,
    subject: node,
    extensions: ["subjectAltName=DNS:n1,URI:https://a"],
    usages: servingUsages,
  },
  {
    name: "serving-client-auth",
    signer: serving,
    key: p256,
    subject: node,
    extensions: hosts,
    usages: [...servingUsages, "client auth"],
  },
  {
    name: "serving-name",
    signer: serving,
    key: p256,
    subject: ["O=system:nodes", "CN=n1"],
    extensions: hosts,
    usages: servingUsages,
  },
  {
    name: "client-server-auth",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    usages: [...clientUsages, "server auth"],
  },
  {
    name: "client-no-client-auth",
    signer: client,
    key: p256,
    subject: ["CN=a"],
    usages: ["digital signature"],
  },
];

const directory = temporaryDirectory("record-signatures");
const sections = "[dn2]\nCN=directory\n";

function openssl(...args: readonly string[]): Buffer {
  return execFileSync("openssl", args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
}

/** spec.request, or undefined where openssl does not make it. */
function requestOf(one: Case): string {
  const key = join(directory, `${one.name}.key`);
  openssl("genpkey", "-algorithm", ...one.key, "-out", key);
  const config = join(directory, `${one.name}.cnf`);
  const extensions = one.extensions ?? [];
  writeFileSync(
    config,
    `[req]\ndistinguished_name=dn\nprompt=no\nutf8=yes\nstring_mask=utf8only\n${
      extensions.length === 0 ? "" : "req_extensions=ext\n"
    }[dn]\n${one.subject.join("\n")}\n[ext]\n${extensions.join("\n")}\n${sections}`,
  );
  const empty = one.subject.length === 0 ? ["-subj", "/"] : [];
  const digest = one.digest === undefined ? [] : [one.digest];
  return openssl("req", "-new", "-key", key, "-config", config, ...empty, ...digest).toString();
}

function makeAuthority(
  name: string,
  key: readonly string[],
  subject: string,
): { cert: string; key: string } {
  const files = { cert: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  openssl("genpkey", "-algorithm", ...key, "-out", files.key);
  openssl(
    "req",
    "-x509",
    "-new",
    "-key",
    files.key,
    "-days",
    "3650",
    "-subj",
    subject,
    "-out",
    files.cert,
  );
  return files;
}

const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

async function record(
  api: StockApiServer,
  ca: { cert: string; key: string },
  requests: readonly (readonly [Case, string])[],
) {
  const kcm = spawn(
    process.env["KCM"] ?? "kube-controller-manager",
    [
      `--kubeconfig=${api.kubeconfig}`,
      "--controllers=csrsigning",
      `--cluster-signing-cert-file=${ca.cert}`,
      `--cluster-signing-key-file=${ca.key}`,
      "--leader-elect=false",
      "--secure-port=0",
    ],
    { cwd: directory, stdio: ["ignore", "ignore", openSync(join(directory, "kcm.log"), "a")] },
  );
  const out: object[] = [];
  for (const [one, request] of requests) {
    const spec = {
      signerName: one.signer,
      request: Buffer.from(request).toString("base64"),
      usages: one.usages,
      ...given({ expirationSeconds: one.seconds }),
    };
    const body = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: one.name },
      spec,
    };
    const made = await api.request("POST", csrs, body);
    const entry = {
      name: one.name,
      signerName: one.signer,
      usages: one.usages,
      ...given({ expirationSeconds: one.seconds }),
      request,
    };
    if (made.status !== 201) {
      out.push({
        ...entry,
        refused: `${made.status} ${String(made.body["message"])}`
          .replaceAll(spec.request, "REQUEST")
          .replace(/Invalid value: (.*?)(\\n|\]|")+: /, "Invalid value: …: "),
      });
      continue;
    }
    const condition = { type: "Approved", status: "True", reason: "r", message: "m" };
    const approved = { ...made.body, status: { conditions: [condition] } };
    const answer = await api.request("PUT", `${csrs}/${one.name}/approval`, approved);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    out.push({ ...entry, ...(await outcome(api, one.name)) });
    await api.request("DELETE", `${csrs}/${one.name}`);
  }
  kcm.kill("SIGKILL");
  return out;
}

async function outcome(api: StockApiServer, name: string): Promise<object> {
  for (let tries = 0; tries < 100; tries++) {
    const { body } = await api.request("GET", `${csrs}/${name}`);
    const status = body["status"] as unknown as {
      certificate?: string;
      conditions: { type: string; reason: string; message: string }[];
    };
    if (status.certificate !== undefined)
      return { certificate: Buffer.from(status.certificate, "base64").toString() };
    const failed = status.conditions.find(({ type }) => type === "Failed");
    if (failed !== undefined) return { failed: { reason: failed.reason, message: failed.message } };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const log = readFileSync(join(directory, "kcm.log"), "utf8").split("\n");
  return { unsigned: log.findLast((line) => line.includes(name))?.replace(/^.*\] /, "") ?? "" };
}

const store = await startStore(["--data-dir", join(directory, "data"), "--listen", "127.0.0.1:0"]);
mkdirSync(join(directory, "api"), { recursive: true });
const program = findPeer("kube-apiserver");
if (program === undefined) throw new Error("no kube-apiserver");
const api = await startApiServer(program, join(directory, "api"), [`--etcd-servers=${store.url}`]);
const requests = cases.map((one) => [one, requestOf(one)] as const);
const authorities = [
  { ...makeAuthority("ec", p256, "/CN=kubernetes"), requests },
  { ...makeAuthority("rsa", rsa(2048), "/C=DE/O=A/O=B/CN=root"), requests: requests.slice(0, 2) },
  { ...makeAuthority("p384", ec("P-384"), "/CN=p384"), requests: requests.slice(0, 1) },
  { ...makeAuthority("ed25519", ["ED25519"], "/CN=ed25519"), requests: requests.slice(0, 1) },
];
const recorded: object[] = [];
for (const ca of authorities) {
  recorded.push({
    authority: readFileSync(ca.cert, "utf8"),
    requests: await record(api, ca, ca.requests),
  });
}
process.stdout.write(`${JSON.stringify(recorded, undefined, 1)}\n`);
await api.stop();
await store.kill();
removeDirectory(directory);
