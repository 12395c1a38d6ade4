/** `--runtime-config`: which kinds are served, and how mistakes are refused; answers of kube-apiserver 1.36.3. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import { runtimeConfig, type RuntimeConfig, servedResources } from "./runtime-config.ts";

const none: RuntimeConfig = new Map();

function versions(text: string): readonly string[] {
  const served = servedResources(runtimeConfig(text, none));
  return [...new Set(served.map(({ group, version }) => `${group}/${version}`))];
}

function kinds(text: string, groupVersion: string): readonly string[] {
  return servedResources(runtimeConfig(text, none))
    .filter(({ group, version }) => `${group}/${version}` === groupVersion)
    .map(({ resource }) => resource);
}

suite("what --runtime-config serves", () => {
  test("without a key every GA version, and no other", () => {
    const all = builtinResources().map(({ group, version }) => `${group}/${version}`);
    const stable = [...new Set(all)].filter((name) => /\/v\d+$/.test(name));
    assert.equal(stable.length, 22);
    assert.deepEqual(versions(""), stable);
  });

  test("api/all serves all that stock serves with it: versions of gates that are off stay off", () => {
    const gated = new Set([
      "certificates.k8s.io/v1alpha1",
      "certificates.k8s.io/v1beta1",
      "scheduling.k8s.io/v1alpha2",
      "storagemigration.k8s.io/v1beta1",
    ]);
    const rows = builtinResources().filter(
      ({ group, version }) => !gated.has(`${group}/${version}`),
    );
    assert.equal(rows.length, 89);
    assert.deepEqual(servedResources(runtimeConfig("api/all=true", none)), rows);
    assert.equal(versions("api/alpha=true,api/beta=true").length, 22 + 10);
  });

  test("a version that is named is served whatever its gate", () => {
    const named = "certificates.k8s.io/v1beta1";
    assert.deepEqual(kinds(named, named), ["clustertrustbundles", "podcertificaterequests"]);
    const one = `${named}/podcertificaterequests=true`;
    assert.deepEqual(kinds(one, named), ["podcertificaterequests"]);
  });

  test("the narrower key counts, in whatever order they come", () => {
    const beta = "networking.k8s.io/v1beta1";
    assert.deepEqual(kinds(`${beta}/ipaddresses=false,${beta}=true`, beta), ["servicecidrs"]);
    assert.deepEqual(kinds(`${beta}=false,api/beta=true`, beta), []);
    assert.deepEqual(kinds("api/beta=true,api/all=true", beta), ["ipaddresses", "servicecidrs"]);
    assert.deepEqual(kinds("api/beta=false,api/all=true", beta), []);
    assert.deepEqual(kinds(`${beta}/ipaddresses=true,${beta}=false`, beta), ["ipaddresses"]);
    assert.equal(versions("batch/v1=0").includes("batch/v1"), false);
  });

  test("flags add up, the later one counts; v1 and what is below it mean the core group", () => {
    const twice = runtimeConfig(
      "batch/v1=true,apps/v1=false",
      runtimeConfig("batch/v1=false", none),
    );
    const served = servedResources(twice);
    const has = (name: string): boolean => served.some(({ group }) => group === name);
    assert.deepEqual([has("batch"), has("apps"), has("")], [true, false, true]);
    for (const key of ["v1", "api/v1", "v1/pods", "/v1"]) {
      assert.deepEqual(kinds(`${key}=false`, "/v1"), []);
    }
    assert.equal(versions("api/legacy=false").length, 22);
  });

  test("a resource that is none, and versions that nothing serves any more, change nothing", () => {
    for (const text of ["apps/v1/widgets=true", "extensions/v1beta1=true", "apps/v1beta2"]) {
      assert.equal(versions(text).length, 22, text);
    }
  });
});

/** By what is given. */
const refusals: Readonly<Record<string, string>> = {
  "foo/v1=true": "unknown api groups foo/v1",
  "foo/v1=true,bar/v1=false,api/beta=x": "unknown api groups bar/v1,foo/v1",
  "api/x=true": "unknown api groups api/x",
  "apps/v2=true": "group version apps/v2 that has not been registered",
  "apps//deployments=true": "group version apps/ that has not been registered",
  "apps=true": "runtime-config invalid key apps",
  "a/b/c/d=true": "runtime-config invalid key a/b/c/d",
  "x=y/": "runtime-config invalid key x",
  "=true": "runtime-config invalid key ",
  "api/all=maybe": "invalid value api/all=maybe",
  "api/all": "invalid value api/all=",
  "api/beta=TRUE": "invalid value api/beta=TRUE",
  "apps/v1=maybe":
    'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
  "apps/v1/deployments=maybe":
    'invalid value of apps/v1/deployments: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
  "apps/v1/Deployments=false":
    'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not "Deployments"',
  "api/all=false":
    "[--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true, invalid runtime-config with only api/all=false]",
  "apiregistration.k8s.io/v1=false": "API group/version apiregistration.k8s.io/v1 must be enabled",
  "api/ga=false":
    "--runtime-config=api/ga=false conflicts with --enable-priority-and-fairness=true",
};

suite("a mistake in --runtime-config is refused in the words of stock", () => {
  for (const [text, message] of Object.entries(refusals)) {
    test(text, () => {
      assert.throws(() => servedResources(runtimeConfig(text, none)), {
        name: "UsageError",
        message: `--runtime-config: ${message}`,
      });
    });
  }
});
