/** The operator's file of views: its fields, and how mistakes in it are reported. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { podKind } from "../testing/fake-upstream.ts";
import { definitionOn, parseViewFile, ViewFileError } from "./view-definition.ts";

function problems(text: string): string {
  try {
    parseViewFile(text);
  } catch (error) {
    assert(error instanceof ViewFileError, String(error));
    return error.message;
  }
  return "";
}

void describe("a file of views", () => {
  void it("declares what is selected and how it is written", () => {
    const [routes, ips] = parseViewFile(`
views:
  - name: routes
    resource: v1/pods
    namespaces: [shop, shop]
    labelSelector: app=web
    text: |
      {.metadata.name}: {.status.podIP};
    zone: {path: .metadata.labels.zone, minimum: 3}
  - name: pod-ips
    resource: pods
    fieldSelector: spec.nodeName=n1
    fields:
      ip: "{.status.podIP}"
      images: [".spec.containers[*].image"]
`);
    assert.deepEqual(routes?.namespaces, ["shop"]);
    assert.equal(routes?.shape.kind, "text");
    assert.equal(routes?.zone?.minimum, 3);
    assert.equal(ips?.shape.kind, "fields");
    if (ips?.shape.kind === "fields") {
      assert.deepEqual(
        ips.shape.rules.map(({ name, all }) => [name, all]),
        [
          ["ip", false],
          ["images", true],
        ],
      );
    }
  });

  void it("tells every mistake with its line and its field", () => {
    const text = `views:
  - name: Bad Name
    resource: pods
    labelSelector: "a in ("
    colour: red
  - resource: 7
    name: b
    text: "{.a"
    fields: {x: "a.b"}
    zone:
      path: .metadata.labels.zone
      minimum: 0
  - name: b
    resource: pods
    fields: {q: ".list["}
    namespaces: shop
`;
    const told = problems(text).split("\n");
    const expected = [
      /^line 5: views\[0\]\.colour: is not known; known: name, resource/,
      /^line 4: views\[0\]\.labelSelector: /,
      /^line 2: views\[0\]\.name: must be of lower case/,
      /^line 6: views\[1\]\.resource: must be a text/,
      /^line 8: views\[1\]\.text: fields and text exclude each other/,
      /^line 8: views\[1\]\.text: unclosed action/,
      /^line 12: views\[1\]\.zone\.minimum: must be a whole number from 1 on/,
      /^line 16: views\[2\]\.namespaces: must be a list of names/,
      /^line 15: views\[2\]\.fields\.q: unterminated array/,
      /^line 13: views\[2\]\.name: "b" stands twice/,
    ];
    for (const pattern of expected) {
      assert.ok(
        told.some((line) => pattern.test(line)),
        `${String(pattern)} in\n${told.join("\n")}`,
      );
    }
    assert.equal(told.length, expected.length, told.join("\n"));
  });

  void it("is refused when it is no file of views", () => {
    assert.match(problems("[]"), /^line 1: the file: must be a map/);
    assert.match(problems("views: 3"), /^line 1: views: must be a list of views/);
    assert.match(problems("views:\n\t- x"), /line 2|tab/i);
    assert.match(problems("views: []\nviews: []"), /already set/);
    assert.equal(problems(`views:\n${"  - {}\n".repeat(40)}`).split("\n").length, 21);
  });

  void it("is refused when its resource cannot be selected from like that", () => {
    const [view] = parseViewFile(
      "views: [{name: a, resource: pods, fieldSelector: spec.colour=red}]",
    );
    assert(view !== undefined);
    assert.throws(() => definitionOn(podKind, view), /spec\.colour/);
    const nodes = { ...podKind, resource: "nodes", kind: "Node", namespaced: false };
    const [scoped] = parseViewFile("views: [{name: a, resource: nodes, namespaces: [x]}]");
    assert(scoped !== undefined);
    assert.throws(() => definitionOn(nodes, scoped), /nodes have none/);
  });
});
