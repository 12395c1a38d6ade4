/** The audit log of our API server and that of a stock one: the same requests and policy, the same events. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { startEtcd } from "#etcd/testing/servers.ts";
import {
  auditedRequests,
  auditPolicy,
  auditTokens,
  comparable,
  differs,
} from "./audit-requests.ts";
import { sendAudited } from "./audited.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { startRole } from "./role-harness.ts";
import { startApiServer } from "./stock-apiserver.ts";

const stock = stockPrograms();
const skip = stock === undefined ? noStock : false;
const directory = temporaryDirectory("audit-stock");
after(() => removeDirectory(directory));

const policyFile = join(directory, "policy.yaml");
const tokenFile = join(directory, "tokens.csv");

function flags(log: string): readonly string[] {
  return [
    `--audit-log-path=${log}`,
    `--audit-policy-file=${policyFile}`,
    `--token-auth-file=${tokenFile}`,
  ];
}

describe("audit events beside a stock server's", { skip, timeout: 240_000 }, () => {
  test("are equal but for times, IDs and what the table of differences says", async () => {
    writeFileSync(policyFile, auditPolicy);
    writeFileSync(tokenFile, auditTokens);
    const wrong: string[] = [];
    const theirs = await stockEvents(join(directory, "stock.log"));
    const ours = await ourEvents(join(directory, "ours.log"));
    for (const [at, { method, path, as = "tok" }] of auditedRequests.entries()) {
      if (differs.has(at)) continue;
      const what = `${at} ${method} ${path} as ${as}`;
      wrong.push(...differences(ours[at], theirs[at], what));
    }
    assert.equal(wrong.join("\n"), "");
  });
});

/** Where two documents differ, one line each. */
function differences(ours: unknown, theirs: unknown, path: string): readonly string[] {
  if (!isFields(ours) || !isFields(theirs))
    return isDeepStrictEqual(ours, theirs)
      ? []
      : [`${path}: ${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)}`];
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...keys].flatMap((key) => differences(ours[key], theirs[key], `${path}.${key}`));
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** By request. */
async function ourEvents(log: string): Promise<readonly unknown[]> {
  const data = ["--data-dir", join(directory, "data"), "--secure-port", "0"];
  const role = await startRole(["apiserver", ...data, ...flags(log)]);
  const url = /https:\/\/\S+/.exec(role.output())?.[0] ?? "";
  const answers = await sendAudited(url, auditedRequests);
  assert.equal(await role.stop(), 0, role.output());
  return comparable(readFileSync(log, "utf8"), answers);
}

async function stockEvents(log: string): Promise<readonly unknown[]> {
  const etcd = await startEtcd(stock?.etcd ?? "");
  try {
    const servers = `--etcd-servers=${etcd.url}`;
    const place = join(directory, "stock");
    const server = await startApiServer(stock?.apiserver ?? "", place, [servers, ...flags(log)]);
    const answers = await sendAudited(server.url, auditedRequests);
    await server.stop();
    return comparable(readFileSync(log, "utf8"), answers);
  } finally {
    await etcd.close();
  }
}
