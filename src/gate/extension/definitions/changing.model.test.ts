/**
 * A definition changes while a hundred clients write, read and watch. No answer may come from a definition that had
 * already been replaced when the request was sent, or when a watch's event was delivered.
 *
 * Generation k of the definition has only the field `spec.g<k>`, with the default k: every answer shows the generation
 * under which it was made.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin } from "#admission/admission.ts";
import { ask, watch } from "#apiserver/testing/plane.ts";
import {
  conditionOf,
  cronTab,
  cronTabDefinition,
  cronTabs,
  type CustomPlane,
  define,
  definitionsPath,
  openCustomPlane,
  settled,
} from "../testing/plane.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const name = "crontabs.stable.example.com";
const clients = 100;
const steps = 6;
const objects = 8;

function schemaOf(generation: number): object {
  const properties = { [`g${generation}`]: { type: "string", default: String(generation) } };
  const spec = { type: "object", default: {}, properties };
  return { openAPIV3Schema: { type: "object", properties: { spec } } };
}

/** Under which generation an object was shown; it must be one, and whole. */
function shownUnder(object: AnyObject): number {
  const spec = (object["spec"] ?? {}) as Readonly<Record<string, string>>;
  const fields = Object.keys(spec);
  assert.equal(fields.length, 1, `an object between two definitions: ${JSON.stringify(spec)}`);
  const [field = ""] = fields;
  const generation = Number(field.slice(1));
  assert.equal(spec[field], String(generation));
  return generation;
}

class World {
  readonly #plane: CustomPlane;
  /** The last generation whose change was answered, and the last one that was sent. */
  #answered = 1;
  #sent = 1;
  counted = 0;

  constructor(plane: CustomPlane) {
    this.#plane = plane;
  }

  async change(): Promise<void> {
    const generation = ++this.#sent;
    const patch = [{ op: "replace", path: "/spec/versions/0/schema", value: schemaOf(generation) }];
    const type = "application/json-patch+json";
    const answer = await ask(this.#plane, "PATCH", `${definitionsPath}/${name}`, {
      type,
      body: patch,
    });
    assert.equal(answer.status, 200, answer.text);
    this.#answered = generation;
  }

  async write(at: number): Promise<void> {
    const atLeast = this.#answered;
    const object = cronTab(`o${at % objects}`, {});
    const path = `${cronTabs}/o${at % objects}`;
    const type = "application/merge-patch+json";
    const body = { metadata: { labels: { n: String(at) } } };
    const answer =
      at % 3 === 0
        ? await ask(this.#plane, "POST", cronTabs, { body: object })
        : await ask(this.#plane, "PATCH", path, { type, body });
    if (answer.status === 503) assert.match(answer.text, /the definition of .* changed/);
    else if (answer.status < 300) this.#check(answer.json, atLeast);
    else assert.ok([404, 409].includes(answer.status), answer.text);
  }

  async read(at: number): Promise<void> {
    const atLeast = this.#answered;
    if (at % 2 === 0) {
      const { json } = await ask(this.#plane, "GET", cronTabs);
      for (const item of (json["items"] ?? []) as readonly AnyObject[]) this.#check(item, atLeast);
      return;
    }
    const { status, json } = await ask(this.#plane, "GET", `${cronTabs}/o${at % objects}`);
    if (status === 200) this.#check(json, atLeast);
  }

  async watch(turns: number): Promise<void> {
    const atLeast = this.#answered;
    const watching = await watch(this.#plane, `${cronTabs}?watch=1`);
    const sent = this.#sent;
    let seen = 0;
    for (let turn = 0; turn < turns && !watching.ended; turn++) {
      await nextTurn();
      const events = watching.events().slice(seen);
      seen += events.length;
      for (const { object } of events) this.#check(object, atLeast);
    }
    const isReplaced = this.#answered > sent;
    assert.ok(watching.ended || !isReplaced, "a watch outlived its definition");
    watching.close();
  }

  #check(object: AnyObject, atLeast: number): void {
    const generation = shownUnder(object);
    assert.ok(generation >= atLeast, `${generation} after ${atLeast} was answered`);
    assert.ok(generation <= this.#sent);
    this.counted++;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Between the decoding of a custom object and its way to the store, definitions change. */
const slowAdmission: AdmissionPlugin = {
  name: "Slow",
  async validate({ info }) {
    if (info.isCustom === true) await nextTurn();
  },
};

test("no answer is made under a definition that was replaced before it was asked for", async () => {
  const plan = fc.array(fc.constantFrom("write", "read", "watch", "change", "wait"), {
    minLength: steps,
    maxLength: steps,
  });
  const plans = fc.array(plan, { minLength: clients, maxLength: clients });
  await fc.assert(
    fc.asyncProperty(plans, async (chosen) => {
      const plane = await openCustomPlane({ plugins: [slowAdmission] });
      try {
        await define(plane, cronTabDefinition({ schema: schemaOf(1) }));
        const world = new World(plane);
        for (let at = 0; at < objects; at++) await world.write(at * 3 * (objects + 1));
        // Generations are written one after the other: their order is the test's to know.
        let changes = Promise.resolve();
        const change = (): Promise<void> => {
          changes = changes.then(() => world.change());
          return changes;
        };
        const client = async (own: readonly string[], at: number): Promise<void> => {
          for (const [step, what] of own.entries()) {
            if (what === "write") await world.write(at * steps + step);
            if (what === "read") await world.read(at * steps + step);
            if (what === "watch") await world.watch(5);
            if (what === "change" && at % 10 === 0) await change();
            await nextTurn();
          }
        };
        await Promise.all(chosen.map(client));
        await settled(plane, name, (stored) => conditionOf(stored, "Established") === "True");
        assert.ok(world.counted >= objects);
      } finally {
        await plane.close();
      }
    }),
    { numRuns: 5, seed, endOnFailure: true },
  );
});
