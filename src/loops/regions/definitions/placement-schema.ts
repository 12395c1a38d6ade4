/** The schema of Placement: the fields that `placement.ts` reads, with bounds on every list and number. */
const text = (maxLength: number) => ({ type: "string", maxLength });
const list = (items: object, maxItems: number) => ({ type: "array", maxItems, items });
const object = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const choice = (...values: readonly string[]) => ({ type: "string", enum: values });
const count = { type: "integer", minimum: 0, maximum: 2_147_483_647 };

const labelSelector = {
  ...object({
    matchLabels: { type: "object", maxProperties: 32, additionalProperties: text(63) },
    matchExpressions: list(
      object({ key: text(317), operator: text(16), values: list(text(63), 64) }, [
        "key",
        "operator",
      ]),
      32,
    ),
  }),
  "x-kubernetes-map-type": "atomic",
};

const bounds = {
  min: count,
  max: count,
  weight: { type: "number", minimum: 0, maximum: 1_000_000 },
};

/** The admission policy checks each resource with the authorizer, and the expression cost limits the number of checks. */
export const resourcesMax = 8;

const spec = object(
  {
    resources: {
      ...list(
        object(
          {
            apiVersion: text(300),
            kind: text(63),
            resource: text(63),
            name: text(253),
            labelSelector,
          },
          ["apiVersion", "kind"],
        ),
        resourcesMax,
      ),
      minItems: 1,
    },
    dependencies: list(choice("ConfigMap", "Secret", "ServiceAccount"), 3),
    regions: object({
      selector: labelSelector,
      weights: choice("Equal", "FreeCapacity", "Cost"),
      each: object(bounds),
      named: list(object({ name: text(63), ...bounds }, ["name"]), 256),
      spread: object({ label: text(317) }, ["label"]),
      with: list(text(253), 8),
      apart: list(text(253), 8),
    }),
    overrides: list(
      object(
        {
          regions: list(text(63), 256),
          selector: labelSelector,
          kind: text(63),
          patches: list(
            {
              ...object({ op: choice("add", "remove", "replace", "test"), path: text(1_024) }, [
                "op",
                "path",
              ]),
              "x-kubernetes-preserve-unknown-fields": true,
            },
            64,
          ),
        },
        ["patches"],
      ),
      64,
    ),
    failover: object({
      afterSeconds: { type: "integer", minimum: 60, maximum: 31_536_000 },
      singletons: choice("Never", "Fenced"),
      onReturn: choice("Rebalance", "Stay"),
    }),
    surgePercent: { type: "integer", minimum: 0, maximum: 100 },
    conflicts: choice("Refuse", "Adopt"),
    deletion: choice("Delete", "Keep"),
  },
  ["resources"],
);

/** Only the coordinator writes the status. */
const status = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export const placementSchema = object({ spec, status }, ["spec"]);
