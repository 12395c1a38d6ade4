/** Texts as a stock server 1.36 gave them. Conversion webhooks that lie, drip, loop or die: the requests that need them fail with upstream's text, others do not. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnyObject } from "#api/object.ts";
import {
  collection,
  type ConversionWorld,
  converted,
  custom,
  definitionName,
  definitionsPath,
  openConversionWorld,
} from "../conformance/conversion-world.ts";

const v1 = collection("v1");
const v2 = collection("v2");

interface Question {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly AnyObject[];
}

type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** A good answer, with something laid over the review, the response or each object. */
function lying(lie: {
  readonly review?: object;
  readonly response?: (question: Question) => object;
  readonly object?: (object: AnyObject) => unknown;
}): Handle {
  return (_request, response, body) => {
    const { request } = JSON.parse(body.toString()) as { readonly request: Question };
    const good = { uid: request.uid, ...converted(request, lie.object) };
    const type = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", ...lie.review };
    response.end(JSON.stringify({ ...type, response: { ...good, ...lie.response?.(request) } }));
  };
}

function metadata(over: object): (object: AnyObject) => unknown {
  return (object) => ({ ...object, metadata: { ...object.metadata, ...over } });
}

const single = "conversion webhook for stable\\.example\\.com/v1, Kind=E2eTest ";

const lies: readonly (readonly [string, Handle, string])[] = [
  [
    "answers another question",
    lying({ response: () => ({ uid: "other" }) }),
    `failed: expected response\\.uid="[0-9a-f-]+", got "other"`,
  ],
  [
    "answers with another kind",
    lying({ review: { kind: "Lie" } }),
    "failed: expected webhook response of apiextensions\\.k8s\\.io/v1, Kind=ConversionReview, got apiextensions\\.k8s\\.io/v1, Kind=Lie",
  ],
  [
    "answers without a response",
    lying({ response: () => ({ result: null }) }),
    "failed: response\\.result\\.status was '', not 'Success'",
  ],
  [
    "refuses",
    lying({ response: () => ({ result: { status: "Failure", message: "not today" } }) }),
    "failed: not today",
  ],
  [
    "returns no objects",
    lying({ response: () => ({ convertedObjects: [] }) }),
    "returned 0 objects, expected 1",
  ],
  [
    "returns more objects",
    lying({ response: ({ objects }) => ({ convertedObjects: [...objects, ...objects] }) }),
    "returned 2 objects, expected 1",
  ],
  [
    "returns what is no object",
    lying({ object: () => 5 }),
    "whole: json: cannot unmarshal number into Go value of type map\\[string\\]interface \\{\\}",
  ],
  [
    "returns the object as it was",
    lying({ object: (object) => ({ ...object, apiVersion: "stable.example.com/v1" }) }),
    "returned invalid object at index 0: invalid groupVersion \\(expected stable\\.example\\.com/v2, received stable\\.example\\.com/v1\\)",
  ],
  [
    "returns another kind",
    lying({ object: (object) => ({ ...object, kind: "Secret" }) }),
    "returned invalid object at index 0: invalid kind \\(expected E2eTest, received Secret\\)",
  ],
  [
    "returns another object",
    lying({ object: metadata({ name: "other" }) }),
    "returned invalid object: must have the same name: victim != other",
  ],
  [
    "moves the object",
    lying({ object: metadata({ namespace: "kube-system" }) }),
    "returned invalid object: must have the same namespace: default != kube-system",
  ],
  [
    "gives it another UID",
    lying({ object: metadata({ uid: "1" }) }),
    "returned invalid object: must have the same UID: [0-9a-f-]+ != 1",
  ],
  [
    "drops the metadata",
    lying({ object: (object) => ({ ...object, metadata: undefined }) }),
    "returned invalid object: must have the same name: victim != ",
  ],
  [
    "sets labels that are none",
    lying({ object: metadata({ labels: { a: 5 } }) }),
    "returned invalid metadata: metadata\\.labels\\[a\\] must be a string, but is int64 in converted object",
  ],
  [
    "sets a bad label",
    lying({ object: metadata({ labels: { "no key": "x" } }) }),
    `returned invalid metadata: metadata\\.labels: Invalid value: "no key": `,
  ],
  [
    "hangs up",
    (request) => void request.socket.destroy(),
    `failed: Post "https://[^"]+/lie\\?timeout=30s": EOF`,
  ],
  [
    "fails",
    (_request, response) =>
      void response.writeHead(500, { "content-type": "text/plain" }).end("oh no"),
    `failed: an error on the server \\("oh no"\\) has prevented the request from succeeding`,
  ],
  [
    "redirects",
    (request, response) =>
      void response.writeHead(307, { location: `https://${request.headers.host}/convert` }).end(),
    "failed: the server responded with the status code 307 but did not return more information",
  ],
  [
    "answers nothing",
    (_request, response) => void response.end(),
    "failed: couldn't get version/kind; json parse error: ",
  ],
  [
    "answers without an end",
    (_request, response) => {
      const chunk = Buffer.alloc(2 ** 20, " ");
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    },
    "failed: the answer has more than 8388608 bytes",
  ],
];

describe("a conversion webhook", () => {
  let world: ConversionWorld;
  before(async () => {
    world = await openConversionWorld();
    await world.define();
    await world.create(
      v1,
      custom("v1", "victim", { metadata: { name: "victim", labels: { a: "b" } } }),
    );
  });
  after(() => world.stop());

  /** Puts the definition's webhook at another path; what was converted is forgotten. */
  async function point(path: string): Promise<void> {
    const webhook = { clientConfig: { url: world.hooks.url(path) } };
    const body = { spec: { conversion: { webhook } } };
    const sent = { body, type: "application/merge-patch+json" };
    const changed = await world.ask("PATCH", `${definitionsPath}/${definitionName}`, sent);
    assert.equal(changed.status, 200, changed.text);
  }

  for (const [name, handle, said] of lies) {
    test(`that ${name} fails the requests that need it, and only those`, async () => {
      world.hooks.raw("/lie", handle);
      await point("/other");
      await point("/lie");
      const text = new RegExp(
        said.startsWith("whole: ") ? `^${said.slice(7)}` : `^${single}${said}`,
      );
      for (const path of [`${v2}/victim`, v2]) {
        const failed = await world.ask("GET", path);
        assert.equal(failed.status, 500, failed.text);
        assert.match(String(failed.json["message"]), text);
      }
      const read = await world.ask("GET", `${v1}/victim`);
      assert.deepEqual([read.status, read.json["hostPort"]], [200, "local:80"]);
    });
  }

  test("that changes other metadata changes nothing of it", async () => {
    const change = {
      resourceVersion: "1",
      ownerReferences: [],
      finalizers: ["x/y"],
      generation: 99,
      labels: { c: "d" },
      deletionTimestamp: "2020-01-01T00:00:00Z",
      managedFields: [],
    };
    world.hooks.raw("/lie", lying({ object: metadata(change) }));
    await point("/other");
    await point("/lie");
    const stored = (await world.ask("GET", `${v1}/victim`)).json.metadata;
    const shown = (await world.ask("GET", `${v2}/victim`)).json.metadata;
    assert.deepEqual(shown, { ...stored, labels: { c: "d" } });
  });

  test("that reads what it converts ends by the answer of the stored version", async () => {
    let reads = 0;
    world.hooks.raw("/loop", (request, response, body) => {
      void world.ask("GET", `${v1}/victim`).then(() => {
        reads++;
        lying({})(request, response, body);
      });
    });
    await point("/loop");
    assert.equal((await world.ask("GET", `${v2}/victim`)).status, 200);
    assert.equal(reads, 1);
  });

  test("that asks for what it converts waits for itself once, not again and again", async () => {
    let calls = 0;
    world.hooks.raw("/loop", (request, response, body) => {
      calls++;
      // Its own question waits for this very call; it is not passed on.
      const inner = world.ask("GET", `${v2}/victim`);
      lying({})(request, response, body);
      void inner;
    });
    await point("/other");
    await point("/loop");
    const answers = await Promise.all([1, 2, 3].map(() => world.ask("GET", `${v2}/victim`)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(calls, 1);
  });

  test("on a port where nobody listens fails writes in its version, and not those in the stored one", async () => {
    const webhook = { clientConfig: { url: "https://127.0.0.1:1/" } };
    const body = { spec: { conversion: { webhook } } };
    const sent = { body, type: "application/merge-patch+json" };
    await world.ask("PATCH", `${definitionsPath}/${definitionName}`, sent);
    const refused = await world.create(v2, custom("v2", "new"));
    assert.equal(refused.status, 500, refused.text);
    assert.match(
      String(refused.json["message"]),
      /^conversion webhook for stable\.example\.com\/v2, Kind=E2eTest failed: Post "https:\/\/127\.0\.0\.1:1\/\?timeout=30s": dial tcp 127\.0\.0\.1:1: connect: connection refused$/,
    );
    assert.equal((await world.create(v1, custom("v1", "new"))).status, 201);
    assert.equal((await world.ask("DELETE", `${v1}/new`)).status, 200);
  });
});
