/** Builds a CustomResourceDefinition of Pilothouse or of SIG Multicluster; holds schema parts that several of them share. */
import type { AnyObject } from "#api/object.ts";

interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly schema: object;
  readonly columns: readonly object[];
  readonly shortNames?: readonly string[];
  /** All versions have the same schema; the last one is the storage version. Absent: v1alpha1. */
  readonly versions?: readonly string[];
}

export function definition(given: Kind): AnyObject {
  const { group, kind, plural, schema, columns, shortNames, versions = ["v1alpha1"] } = given;
  // CRDs in a group of Kubernetes' own domain need an annotation that names the API review. These were reviewed upstream.
  const approved = {
    "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/4322",
  };
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      ...(group.endsWith(".k8s.io") ? { annotations: approved } : {}),
    },
    spec: {
      group,
      scope: "Namespaced",
      names: shortNames === undefined ? names : { ...names, shortNames },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === versions.at(-1),
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: { openAPIV3Schema: schema },
      })),
    },
  };
}

export const short = { type: "string", maxLength: 253 };

export const conditions = {
  type: "array",
  maxItems: 32,
  items: {
    type: "object",
    required: ["type", "status", "lastTransitionTime", "reason", "message"],
    properties: {
      type: { type: "string", maxLength: 316 },
      status: { type: "string", enum: ["True", "False", "Unknown"] },
      reason: { type: "string", maxLength: 1_024 },
      message: { type: "string", maxLength: 32_768 },
      lastTransitionTime: { type: "string", format: "date-time" },
      observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    },
  },
};
