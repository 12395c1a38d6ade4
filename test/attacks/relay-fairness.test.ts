/**
 * Attacks on the seats of a relay: all of them taken by answers that nobody reads, a level that is not one's own, and all
 * watches of a level.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import type { IssuedCertificate } from "#auth/pki.ts";
import { type Answered, RelayedPlane } from "./relayed-plane.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const everywhere = "/api/v1/configmaps";
const levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
/** Of all levels: global-default, that of mallory and ann, has two. */
const seats = 20;

let world: RelayedPlane;
let mallory: IssuedCertificate;
let ann: IssuedCertificate;

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await world.ask("plane", "POST", path, { as: world.admin, body });
  assert.equal(status, 201, text);
}

before(async () => {
  world = await RelayedPlane.start({}, "configmaps", "not served", seats);
  mallory = world.certificate("mallory", ["readers"]);
  ann = world.certificate("ann", ["readers"]);
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const apiGroup = "rbac.authorization.k8s.io";
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch", "get"] }];
  await made(`${rbac}/clusterroles`, { metadata: { name: "reader" }, rules });
  const subjects = [{ kind: "Group", name: "readers", apiGroup }];
  const roleRef = { apiGroup, kind: "ClusterRole", name: "reader" };
  await made(`${rbac}/clusterrolebindings`, { metadata: { name: "readers" }, subjects, roleRef });
  for (let at = 0; at < 5; at++) {
    await made(maps, { metadata: { name: `large-${at}` }, data: { text: "x".repeat(800_000) } });
  }
  await untilMirrored();
});
after(() => world.stop());

function read(as: IssuedCertificate, path: string, headers = {}): Promise<Answered> {
  return world.ask("relay", "GET", path, { as, headers });
}

async function untilMirrored(): Promise<void> {
  while (!(await read(world.admin, `${maps}?resourceVersion=0`)).text.includes("large-4"));
}

/** Reads nothing of its answer. */
function unread(path: string): TLSSocket {
  const { hostname: host, port } = new URL(world.url("relay"));
  const { certificate: cert, privateKey: key } = mallory;
  const ca = world.pki.authority.certificate;
  const socket = connect({ host, port: Number(port), ca, cert, key, ALPNProtocols: ["http/1.1"] });
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: relay\r\n\r\n`);
  return socket.pause();
}

describe("the seats of a relay", () => {
  it("are not all held by one user whose answers nobody reads", async () => {
    const held = Array.from({ length: 60 }, () => unread(`${everywhere}?resourceVersion=0`));
    for (let at = 0; at < 20; at++) {
      const answer = await read(ann, `${maps}/large-0?resourceVersion=0`);
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
      assert.ok(String(answer.headers["x-kubernetes-pf-flowschema-uid"]).length > 0);
    }
    for (const socket of held) socket.destroy();
    const list = await read(mallory, `${everywhere}?resourceVersion=0`);
    assert.equal(list.status, 200, "and are given back when its connections end");
  });

  it("are those of one's own level, whatever the headers say", async () => {
    const own = await read(ann, `${maps}/large-0?resourceVersion=0`);
    const ofAnn = own.headers["x-kubernetes-pf-prioritylevel-uid"];
    const claims = {
      "x-kubernetes-pf-prioritylevel-uid": "exempt",
      "x-remote-group": "system:masters",
    };
    const claimed = await read(mallory, `${maps}/large-0?resourceVersion=0`, claims);
    assert.equal(claimed.headers["x-kubernetes-pf-prioritylevel-uid"], ofAnn);
    const as = { "impersonate-user": "root", "impersonate-group": "system:masters" };
    const acted = await read(mallory, `${maps}/large-0?resourceVersion=0`, as);
    assert.equal(acted.status, 403);
    const admin = await read(world.admin, `${maps}/large-0?resourceVersion=0`);
    assert.notEqual(admin.headers["x-kubernetes-pf-prioritylevel-uid"], ofAnn);
  });

  it("have the limits of the upstream's levels: the next watch is 429, and reads go on", async () => {
    const annotations = { "flowcontrol.pilothouse.dev/watches-max": "2" };
    const level = await world.ask("plane", "GET", `${levels}/global-default`, { as: world.admin });
    const metadata = { ...level.json.metadata, annotations };
    const body = { ...level.json, metadata };
    const put = await world.ask("plane", "PUT", `${levels}/global-default`, {
      as: world.admin,
      body,
    });
    assert.equal(put.status, 200, put.text);
    const watch = `${maps}?watch=1&resourceVersion=0`;
    const held: TLSSocket[] = [];
    // The relay hears of the change a moment later: until then watches are open.
    let refused: Answered | undefined;
    while (refused === undefined) {
      held.push(unread(watch));
      const asked = await read(ann, `${watch}&timeoutSeconds=1`);
      if (asked.status === 429) refused = asked;
    }
    assert.match(refused.text, /^Too many watches are open at this priority level/);
    assert.equal((await read(ann, `${maps}/large-0?resourceVersion=0`)).status, 200);
    for (const socket of held) socket.destroy();
    while ((await read(ann, `${watch}&timeoutSeconds=1`)).status === 429);
  });
});
