/** Bodies that are dear to decode: JSON, YAML and protobuf up to the limit of 3 MiB. */
import { type Attack, filled, json, yaml } from "../attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

export const decodeAttacks: readonly Attack[] = [
  {
    name: "YAML with 290,000 complex keys",
    requests: [
      {
        method: "POST",
        path: configMaps,
        contentType: yaml,
        body: () => filled("", (i) => `? [${i}]\n: 1\n`, "", { separator: "" }),
      },
    ],
    expect: [400, 413],
  },
  {
    name: "JSON with many unknown fields",
    requests: [
      {
        method: "POST",
        path: `${configMaps}?fieldValidation=Strict`,
        contentType: json,
        body: () => filled(`{"metadata":{"name":"unknown"},`, (i) => `"f${i}":1`, "}"),
      },
    ],
    expect: 400,
  },
];
