/** `pilothouse types`: TypeScript types of custom resources, from the definitions of a file or of a cluster. */
import { parseAllDocuments } from "yaml";
import type { CustomResourceDefinition } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { schemaTypes, SchemaTypesError } from "#client/schema-types.ts";
import { connect } from "../connect.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface ResourceTypesFlags {
  readonly crd?: string;
  readonly kubeconfig?: string;
}

const ref = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
};

export async function writeResourceTypes({ crd, kubeconfig }: ResourceTypesFlags): Promise<void> {
  if ((crd === undefined) === (kubeconfig === undefined)) {
    throw new UsageError("give one of --crd and --kubeconfig");
  }
  const found = crd === undefined ? await ofCluster(kubeconfig ?? "") : ofFile(crd);
  try {
    process.stdout.write(schemaTypes(found));
  } catch (error) {
    if (!(error instanceof SchemaTypesError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

async function ofCluster(kubeconfig: string): Promise<readonly CustomResourceDefinition[]> {
  const api = await connect({ kubeconfig, name: "types" });
  try {
    return (await api.client.list<CustomResourceDefinition>(ref, {})).items;
  } finally {
    api.close();
  }
}

function ofFile(path: string): readonly CustomResourceDefinition[] {
  const documents = parseAllDocuments(readOperatorFile(path));
  const bad = documents.flatMap(({ errors }) => errors)[0];
  if (bad !== undefined) throw new UsageError(`${path}: ${bad.message}`, { cause: bad });
  const found = documents.map((each): unknown => each.toJS()).filter(isDefinition);
  if (found.length === 0) throw new UsageError(`${path} has no CustomResourceDefinition of v1`);
  return found;
}

function isDefinition(value: unknown): value is CustomResourceDefinition {
  const { apiVersion, kind } = (value ?? {}) as KubeObject; // any value of YAML may be asked for fields
  return apiVersion === "apiextensions.k8s.io/v1" && kind === "CustomResourceDefinition";
}
