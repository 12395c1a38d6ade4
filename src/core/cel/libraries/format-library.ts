/** kubernetes.format: named formats with validate(), which returns an optional list of errors. */
import { ownEntry } from "#base/own.ts";
import {
  declare,
  free,
  listOf,
  member,
  noSuchOverload,
  optionalOf,
  textOf,
  types,
} from "./library.ts";
import type { Library } from "./library.ts";
import { namedFormats } from "./named-formats.ts";
import type { NamedFormat } from "./named-formats.ts";
import { OpaqueValue, listValue, optionalValue } from "./values.ts";
import type { Value } from "./values.ts";

export class FormatValue extends OpaqueValue {
  readonly format: NamedFormat;

  constructor(format: NamedFormat) {
    super(types.format.name);
    this.format = format;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && this.format.name === other.format.name;
  }

  override print(): string {
    return this.format.name;
  }
}

function formatOf(value: Value | undefined): NamedFormat {
  if (!(value instanceof FormatValue)) throw noSuchOverload();
  return value.format;
}

export const formatLibrary: Library = {
  name: "kubernetes.format",
  since: 31,
  functions: [
    ...Object.entries(namedFormats).map(([name, format]) =>
      declare(
        `format.${name}`,
        free(`format.${name}`, [], types.format, () => new FormatValue(format)),
      ),
    ),
    declare(
      "validate",
      member(
        "format-validate",
        [types.format, types.string],
        optionalOf(listOf(types.string)),
        (format, text) => {
          const errors = formatOf(format).findErrors(textOf(text));
          return optionalValue(errors.length === 0 ? undefined : listValue(errors));
        },
      ),
    ),
    declare(
      "format.named",
      free("format-named", [types.string], optionalOf(types.format), (name) => {
        const format = ownEntry(namedFormats, textOf(name));
        return optionalValue(format && new FormatValue(format));
      }),
    ),
  ],
};
