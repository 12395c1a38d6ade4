/** The manifests in deploy/: their rights are those of the documents, and the README has every value. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";

const root = join(import.meta.dirname, "..", "..");
const text = (...path: readonly string[]): string => readFileSync(join(root, ...path), "utf8");

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

/** Each right as `group/resource verb`. */
function rightsOf(rules: readonly Rule[]): readonly string[] {
  const of = ({ apiGroups = [""], resources = [], nonResourceURLs = [], verbs }: Rule) =>
    [
      ...apiGroups.flatMap((group) => resources.map((one) => `${group}/${one}`)),
      ...nonResourceURLs,
    ].flatMap((what) => verbs.map((verb) => `${what} ${verb}`));
  return rules.flatMap(of).toSorted();
}

function clusterRole(yaml: string): readonly Rule[] {
  const found = parseAllDocuments(yaml)
    .map((one) => one.toJS() as { kind?: string; rules: readonly Rule[] } | null)
    .find((one) => one?.kind === "ClusterRole");
  assert.ok(found, "there is a ClusterRole");
  return found.rules;
}

test("the relay has the rights of docs/relay-rbac.yaml, but for those of xDS", () => {
  const documented = rightsOf(clusterRole(text("docs", "relay-rbac.yaml")));
  const given = rightsOf(clusterRole(text("deploy", "kustomize", "relay", "relay.yaml")));
  assert.deepEqual(
    given,
    documented.filter((right) => !right.startsWith("networking.k8s.io/")),
  );
});

test("the doctor has the rights of docs/doctor.md", () => {
  const documented =
    /```yaml\n(apiVersion: rbac.*?)```/s.exec(text("docs", "doctor.md"))?.[1] ?? "";
  const given = clusterRole(text("deploy", "kustomize", "doctor", "doctor.yaml"));
  assert.deepEqual(rightsOf(given), rightsOf(clusterRole(documented)));
});

test("a sink may read what it is told to, and nothing else in the cluster", () => {
  const given = clusterRole(text("deploy", "kustomize", "sink", "sink.yaml"));
  assert.deepEqual(rightsOf(given), ["/pods list", "/pods watch"]);
});

test("no Pod of the manifests runs as root, writes its image, or gains privileges", () => {
  for (const part of ["relay", "sink", "doctor"]) {
    const file = text("deploy", "kustomize", part, `${part}.yaml`);
    for (const words of [
      "runAsNonRoot: true",
      "readOnlyRootFilesystem: true",
      "allowPrivilegeEscalation: false",
      "drop: [ALL]",
      "type: RuntimeDefault",
    ]) {
      assert.ok(file.includes(words), `${part}: ${words}`);
    }
  }
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
}

/** `relay.tls.secretName`, its default, and what it means: a row each. */
function rowsOf(schema: Schema, values: unknown, path = ""): readonly string[] {
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([name, inner]) => {
      const value = (values as Readonly<Record<string, unknown>> | undefined)?.[name];
      return name === "global" ? [] : rowsOf(inner, value, path === "" ? name : `${path}.${name}`);
    });
  }
  assert.ok(schema.description, `${path} has a description`);
  assert.notEqual(values, undefined, `${path} has a default`);
  return [`| \`${path}\` | \`${JSON.stringify(values)}\` | ${schema.description} |`];
}

const marks = /(<!-- values -->\n)[\s\S]*?(<!-- end of values -->)/;

test("deploy/README.md tells every value of the chart, with its default", () => {
  const schema = JSON.parse(text("deploy", "helm", "pilothouse", "values.schema.json")) as Schema;
  const values: unknown = parse(text("deploy", "helm", "pilothouse", "values.yaml"));
  const table = ["| value | default | meaning |", "|---|---|---|", ...rowsOf(schema, values)];
  const readme = text("deploy", "README.md");
  const told = readme.replace(marks, `$1${table.join("\n")}\n$2`);
  if (process.argv.includes("--rewrite")) writeFileSync(join(root, "deploy", "README.md"), told);
  else
    assert.equal(readme, told, "node test/deploy/manifests.test.ts --rewrite brings it up to date");
});
