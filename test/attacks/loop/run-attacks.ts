/**
 * Runs worst cases against a live plane (and a live relay before it, when a case asks for one): one test
 * per case, each judged by its status and by how long the attacked process's loop was held. The last
 * thing printed is a table of all.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Agent } from "node:https";
import { type Api, type Attack, type AttackAnswer, heldMsMax } from "./attack.ts";
import { agentOf, apiOf } from "./exchange.ts";
import { askHeld } from "./held.ts";
import { startTargets, type Targets } from "./targets.ts";

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly status: number;
  readonly heldMs: number;
  readonly collectionMs: number;
  readonly wallMs: number;
  readonly totalMs: number;
}

/**
 * A case that held the loop too long is measured again, in a new process: neighbours of a shared core, cold code and a
 * collection that others made due only ever add CPU time, so the smallest figure is the case's own.
 */
const measuresMax = 3;

export function runAttacks(subject: string, attacks: readonly Attack[]): void {
  suite(`no request holds a loop: ${subject}`, () => {
    const rows: Row[] = [];
    let targets: Targets;
    const agents: Agent[] = [];
    before(async () => {
      const relay = attacks.some(({ target }) => target === "relay");
      targets = await startTargets(subject, relay);
    });
    after(async () => {
      for (const agent of agents) agent.destroy();
      await targets.stop();
      console.log(tableOf(rows));
    });
    for (const attack of attacks) {
      test(attack.name, async () => {
        const limitMs = attack.heldMsMax ?? heldMsMax;
        let row = await measure(attack, targets, agents);
        for (let again = 1; row.heldMs > limitMs && again < measuresMax; again++) {
          const fresh = await startTargets(subject, attack.target === "relay");
          const next = await measure(attack, fresh, agents).finally(() => fresh.stop());
          if (next.heldMs < row.heldMs) row = next;
        }
        rows.push(row);
        const { heldMs } = row;
        assert.ok(heldMs <= limitMs, `held the loop ${heldMs.toFixed(0)} ms, not ${limitMs}`);
      });
    }
  });
}

/** @throws AssertionError for another answer than expected. */
async function measure(attack: Attack, targets: Targets, agents: Agent[]): Promise<Row> {
  const target = attack.target === "relay" ? targets.relay : targets.plane;
  assert.ok(target, "the target runs");
  const agent = agentOf(targets.credentials, attack.connections ?? 1);
  agents.push(agent);
  if (attack.prepare !== undefined) {
    const preparing = agentOf(targets.credentials, 16);
    agents.push(preparing);
    await attack.prepare(apiOf(targets.plane.url, preparing));
  }
  const api = counting(apiOf(target.url, agent));
  const bodies = attack.requests.map((request) => withBody(request));
  await askHeld(target.child, "reset");
  const startMs = performance.now();
  const answers = await answersOf(attack, bodies, api);
  const totalMs = performance.now() - startMs;
  const held = await askHeld(target.child, "read");
  for (const answer of answers) checkAnswer(attack, answer);
  const status = answers.at(-1)?.status ?? 0;
  const { heldCpuMs: heldMs, heldWallMs: wallMs, collectionMs } = held;
  return { name: attack.name, bytes: api.bytes(), status, heldMs, collectionMs, wallMs, totalMs };
}

function withBody(request: Attack["requests"][number]): Attack["requests"][number] {
  const body = request.body?.();
  return body === undefined ? request : { ...request, body: () => body };
}

async function answersOf(
  attack: Attack,
  requests: Attack["requests"],
  api: Api,
): Promise<readonly AttackAnswer[]> {
  if (attack.converse !== undefined) {
    return [{ status: await attack.converse(api), headers: {}, text: "", bytes: 0 }];
  }
  const answers: AttackAnswer[] = [];
  for (const request of requests) answers.push(await api.send(request));
  return answers;
}

function checkAnswer(attack: Attack, { status, text }: AttackAnswer): void {
  const expected = typeof attack.expect === "number" ? [attack.expect] : attack.expect;
  assert.ok(
    expected.includes(status),
    `${status}, not ${expected.join(" or ")}: ${text.slice(0, 600)}`,
  );
  if (typeof attack.says === "string") assert.ok(text.includes(attack.says), text.slice(0, 600));
  if (attack.says instanceof RegExp) assert.match(text.slice(0, 4000), attack.says);
}

/** The same, and how many bytes of bodies went out. */
function counting(api: Api): Api & { bytes(): number } {
  let bytes = 0;
  return {
    bytes: () => bytes,
    send(request) {
      const body = request.body?.();
      bytes += body === undefined ? request.path.length : Buffer.byteLength(body);
      return api.send(request);
    },
  };
}

function tableOf(rows: readonly Row[]): string {
  const head = ["bytes", "status", "held CPU ms", "of it GC", "held wall ms", "total ms", "case"];
  const lines = rows.map((row) => [
    String(row.bytes),
    String(row.status),
    row.heldMs.toFixed(1),
    row.collectionMs.toFixed(1),
    row.wallMs.toFixed(1),
    row.totalMs.toFixed(0),
    row.name,
  ]);
  const all = [head, ...lines];
  const widths = head.map((_, at) => Math.max(...all.map((line) => (line[at] ?? "").length)));
  return all
    .map((line) =>
      line.map((cell, at) => (at === 6 ? cell : cell.padStart(widths[at] ?? 0))).join("  "),
    )
    .join("\n");
}
