/**
 * A node joins a whole plane with a bootstrap token and nothing else, as `kubeadm join` and a kubelet do it; and
 * what others try on the same way: certificates of other nodes, more than a kubelet's, tokens that are none.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { CertificateSigningRequest, ConfigMap } from "#api/gen/types.ts";
import { signDetached } from "#auth/cluster-info-signature.ts";
import { refs } from "#controllers/framework/refs.ts";
import {
  askAs,
  clientUsages,
  type Credentials,
  type JoinAnswer,
  type KeyedRequest,
  keyedRequest,
  prepareToJoin,
  servingUsages,
  signingRequest,
  tokenSecret,
  untilObject,
} from "./joining-world.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const kubeconfig = "apiVersion: v1\nkind: Config\n";
const token = "abcdef.0123456789abcdef";
const serving = "kubernetes.io/kubelet-serving";

describe("a node that joins", () => {
  let promised: PromisedPlane;
  before(async () => {
    promised = await startPromised({ withLoops: true });
    const { client } = promised.plane;
    await prepareToJoin(client, kubeconfig);
    await client.create(refs.secrets, "kube-system", tokenSecret("abcdef"));
  });
  after(() => promised?.stop());

  const ask = (as: Credentials, method: string, path: string, body?: object): Promise<JoinAnswer> =>
    askAs(promised.plane.url, as, method, path, body);
  const untilRequest = (name: string, isDone: (one: CertificateSigningRequest) => boolean) =>
    untilObject(promised.plane.client, refs.certificatesigningrequests, "", name, isDone);

  /** The credentials a request brings in the end. */
  async function issued(
    name: string,
    { privateKey }: KeyedRequest,
  ): Promise<Required<Pick<Credentials, "cert" | "key">>> {
    const { status } = await untilRequest(name, (one) => one.status?.certificate !== undefined);
    return { cert: Buffer.from(status?.certificate ?? "", "base64").toString(), key: privateKey };
  }

  async function joined(name: string): Promise<Required<Pick<Credentials, "cert" | "key">>> {
    const keyed = keyedRequest({ commonName: `system:node:${name}` });
    const made = await ask({ token }, "POST", requests, signingRequest(`${name}-joins`, keyed));
    assert.equal(made.status, 201, made.message);
    return issued(`${name}-joins`, keyed);
  }

  async function approve(name: string): Promise<void> {
    const { client } = promised.plane;
    const found = await client.get<CertificateSigningRequest>(
      refs.certificatesigningrequests,
      "",
      name,
    );
    const conditions = [{ type: "Approved", status: "True", reason: "r", message: "m" }];
    const options = { subresource: "approval" };
    await client.update(
      refs.certificatesigningrequests,
      "",
      { ...found, status: { conditions } },
      options,
    );
  }

  test("it finds the cluster's authority without a credential, and the token proves it", async () => {
    const { client } = promised.plane;
    const signed = (map: ConfigMap): boolean => map.data?.["jws-kubeconfig-abcdef"] !== undefined;
    await untilObject<ConfigMap>(client, refs.configmaps, "kube-public", "cluster-info", signed);
    const { status, body } = await ask({}, "GET", info);
    assert.equal(status, 200);
    const { data } = body as ConfigMap;
    assert.equal(data?.["kubeconfig"], kubeconfig);
    const [id = "", secret = ""] = token.split(".");
    assert.equal(data?.["jws-kubeconfig-abcdef"], signDetached(kubeconfig, id, secret));
  });

  test("from the token to a certificate, a Node and Ready, without a hand", async () => {
    const credentials = await joined("n1");
    const certificate = new X509Certificate(credentials.cert);
    assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n1");
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    assert.equal((await ask(credentials, "POST", "/api/v1/nodes", node)).status, 201);
    const stored = await ask(credentials, "GET", "/api/v1/nodes/n1");
    const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "m" }];
    const ready = { ...stored.body, status: { conditions } };
    assert.equal((await ask(credentials, "PUT", "/api/v1/nodes/n1/status", ready)).status, 200);
  });

  test("a node renews its certificate by itself, and gets no other node's", async () => {
    const credentials = await joined("n2");
    const keyed = keyedRequest({ commonName: "system:node:n2" });
    const made = await ask(credentials, "POST", requests, signingRequest("n2-renews", keyed));
    assert.equal(made.status, 201);
    const renewed = await issued("n2-renews", keyed);
    assert.equal((await ask(renewed, "GET", "/api/v1/nodes/n2")).status, 404);
    const { status } = await untilRequest("n2-renews", () => true);
    const [approved] = status?.conditions ?? [];
    assert.match(approved?.message ?? "", /^Auto approving self kubelet client certificate/);
    const other = signingRequest("n2-as-n1", keyedRequest({ commonName: "system:node:n1" }));
    const refused = await ask(credentials, "POST", requests, other);
    assert.equal(refused.status, 403);
    assert.match(refused.message, /can only create a node CSR with CN=system:node:n2$/);
  });

  test("a serving certificate is signed once it is approved, for the names it asked for", async () => {
    const credentials = await joined("n3");
    const keyed = keyedRequest({ commonName: "system:node:n3", dnsNames: ["n3.example.com"] });
    const body = signingRequest("n3-serves", keyed, { signerName: serving, usages: servingUsages });
    assert.equal((await ask(credentials, "POST", requests, body)).status, 201);
    // A request that came later is decided: this one was looked at, and left.
    await joined("n3-after");
    const pending = await untilRequest("n3-serves", () => true);
    assert.deepEqual(pending.status, {});
    await approve("n3-serves");
    const { cert } = await issued("n3-serves", keyed);
    const certificate = new X509Certificate(cert);
    assert.equal(certificate.subjectAltName, "DNS:n3.example.com");
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  });

  test("a token gets nothing but a kubelet's client certificate without a hand, and with one only what a signer signs", async () => {
    const nodes = { commonName: "system:node:x" };
    const cases = {
      "wants-masters": [
        { ...nodes, organizations: ["system:nodes", "system:masters"] },
        clientUsages,
        "subject organization is not system:nodes",
      ],
      "wants-a-name": [
        { commonName: "kubernetes-admin" },
        clientUsages,
        "subject common name does not begin with system:node:",
      ],
      "wants-hosts": [
        { ...nodes, dnsNames: ["kubernetes.default.svc"] },
        clientUsages,
        "DNS subjectAltNames are not allowed",
      ],
      "wants-to-serve": [
        nodes,
        [...clientUsages, "server auth"],
        "usages did not match [client auth digital signature key encipherment]",
      ],
    } as const;
    for (const [name, [names, usages]] of Object.entries(cases)) {
      const body = signingRequest(name, keyedRequest(names), { usages });
      assert.equal((await ask({ token }, "POST", requests, body)).status, 201, name);
    }
    await joined("after-all");
    for (const [name, [, , fault]] of Object.entries(cases)) {
      const pending = await untilRequest(name, () => true);
      assert.deepEqual(pending.status, {}, name);
      await approve(name);
      const failed = await untilRequest(name, (one) => one.status?.conditions?.length === 2);
      assert.equal(failed.status?.conditions?.[1]?.message, fault);
      assert.equal(failed.status?.certificate, undefined);
    }
  });

  test("a token neither approves, nor signs, nor reads and writes anything else", async () => {
    const keyed = keyedRequest({ commonName: "system:node:y" });
    const body = signingRequest("y", keyed, { signerName: serving, usages: servingUsages });
    assert.equal((await ask({ token }, "POST", requests, body)).status, 201);
    for (const subresource of ["approval", "status"]) {
      const answer = await ask({ token }, "PUT", `${requests}/y/${subresource}`, body);
      assert.equal(answer.status, 403, subresource);
    }
    for (const path of ["/api/v1/nodes", "/api/v1/namespaces/kube-system/secrets", info]) {
      assert.equal((await ask({ token }, "GET", path)).status, 403, path);
    }
  });

  test("nobody without the right writes cluster-info, and no token vouches for what was not signed by it", async () => {
    const hostile = { metadata: { name: "cluster-info" }, data: { kubeconfig: "hostile" } };
    for (const as of [{}, { token }, await joined("n4")]) {
      assert.equal((await ask(as, "PUT", info, hostile)).status, 403);
    }
    const { body } = await ask({}, "GET", info);
    assert.equal((body as ConfigMap).data?.["kubeconfig"], kubeconfig);
  });

  test("a token that ended, may not authenticate, or is another's is 401, wherever it goes", async () => {
    const { client } = promised.plane;
    const secrets = [
      tokenSecret("ended0", { expiration: "2001-01-01T00:00:00Z" }),
      tokenSecret("notime", { expiration: "2099" }),
      tokenSecret("signer", { "usage-bootstrap-authentication": "false" }),
      tokenSecret("nogrps", { "auth-extra-groups": "system:masters" }),
    ];
    for (const secret of secrets) {
      // Ended tokens may be deleted before they are asked about: 401 either way.
      await client.create(refs.secrets, "kube-system", secret);
    }
    for (const id of ["ended0", "notime", "signer", "nogrps", "nobody"]) {
      const answer = await ask({ token: `${id}.0123456789abcdef` }, "GET", info);
      assert.equal(answer.status, 401, id);
    }
    assert.equal((await ask({ token: "abcdef.0123456789abcdee" }, "GET", info)).status, 401);
    for (const id of ["ended0", "notime"]) {
      const gone = () =>
        client.list(refs.secrets, {
          namespace: "kube-system",
          fieldSelector: `metadata.name=bootstrap-token-${id}`,
        });
      while ((await gone()).items.length > 0) await new Promise(setImmediate);
    }
  });

  test("a request of more bytes than one takes is refused before it is read", async () => {
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${"A".repeat(64_000)}\n-----END CERTIFICATE REQUEST-----\n`;
    const keyed = { request: Buffer.from(pem).toString("base64"), privateKey: "" };
    const answer = await ask({ token }, "POST", requests, signingRequest("long", keyed));
    assert.equal(answer.status, 422);
    assert.match(answer.message, /must not be longer than 32768 bytes/);
  });
});
