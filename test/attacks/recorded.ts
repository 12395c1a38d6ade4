/**
 * Attacks with the answers of stock kube-apiserver 1.36.3. The same list runs against this server and, where
 * a stock server is at hand, against that, so a recorded answer cannot drift.
 */
import assert from "node:assert/strict";
import type { Attack, AttackAnswer, AttackedServer } from "./attacked-plane.ts";

/** Finds what only a running server knows: uids by `pods/mine`. */
export type Known = (object: string) => string;

export interface TitledAttack {
  readonly title: string;
  readonly attack: (uid: Known) => Attack;
}

/** By title. Status code and message; the code alone when the server lets it through. */
export type Answers = Readonly<Record<string, string>>;

/** Every attack is answered as recorded, and every recorded answer belongs to an attack. */
export async function compareAnswers(
  server: AttackedServer,
  uid: Known,
  attacks: readonly TitledAttack[],
  recorded: Answers,
): Promise<void> {
  const actual: Record<string, string> = {};
  for (const { title, attack } of attacks) {
    actual[title] = shown(await server.request(attack(uid)));
  }
  assert.deepEqual(actual, recorded);
}

export function shown({ status, body }: AttackAnswer): string {
  if (status < 400) return String(status);
  const message = typeof body["message"] === "string" ? body["message"] : "";
  // Uids differ from run to run.
  return `${status} ${message.replace(uidForm, "UID")}`;
}

const uidForm = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Creates `objects` as an administrator and remembers their uids. */
export async function prepare(
  server: AttackedServer,
  objects: readonly { readonly path: string; readonly body: object; readonly method?: string }[],
): Promise<Known> {
  const uids = new Map<string, string>();
  for (const { path, body, method = "POST" } of objects) {
    const answer = await server.request({ method, path, body: filled(body, uids) });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    const { name = "", uid = "" } = (answer.body["metadata"] ?? {}) as Record<string, string>;
    uids.set(`${resourceOf(path)}/${name}`, uid);
  }
  return (object) => {
    const uid = uids.get(object);
    assert.ok(uid !== undefined, `nothing known of ${object}`);
    return uid;
  };
}

/** `uid:nodes/n1` in a body stands for that object's uid. */
function filled(body: object, uids: ReadonlyMap<string, string>): unknown {
  const text = JSON.stringify(body);
  return JSON.parse(text.replace(/"uid:([^"]+)"/g, (_all, key: string) => `"${uids.get(key)}"`));
}

function resourceOf(path: string): string {
  const parts = path.split("/");
  return parts.at(-1) ?? "";
}
