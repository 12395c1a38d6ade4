/**
 * Packs what tests compare with into src/core/api/testing/upstream, of a Kubernetes source tree of the version that we claim:
 *
 *   node tools/pack-samples.mjs staging/src/k8s.io/api/testdata/HEAD api/openapi-spec/swagger.json
 *
 * The first folder has a .json and a .pb of every kind with every field set. Brotli: 1.6 MB become 34 KB, 4.1 MB 161 KB.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const [samples = "", swagger = ""] = process.argv.slice(2);

pack("objects", objectsOf(samples));
pack("swagger", JSON.parse(readFileSync(swagger, "utf8")));

function objectsOf(folder) {
  const names = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return Object.fromEntries(
    names.map((file) => [file.slice(0, -".json".length), objectOf(folder, file)]),
  );
}

function objectOf(folder, file) {
  const path = join(folder, file);
  const object = JSON.parse(readFileSync(path, "utf8"));
  return { object, protobuf: readFileSync(path.replace(/json$/, "pb"), "base64") };
}

function pack(name, value) {
  const text = Buffer.from(JSON.stringify(value));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
  const target = import.meta.resolve(`#api/testing/upstream/${name}.json.br`);
  writeFileSync(fileURLToPath(target), brotliCompressSync(text, { params }));
}
