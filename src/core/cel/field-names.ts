/**
 * Property names as expressions write them: `my-field` is `my__dash__field`, `namespace` is `__namespace__`.
 * Since Kubernetes 1.31 a select may also say `x.namespace`.
 *
 * Source: k8s.io/apiserver pkg/cel/escaping.go, types.go (FindStructFieldType).
 */
const reserved: ReadonlySet<string> = new Set(
  `true false null in as break const continue else for function if import let loop package namespace return var
   void while`.split(/\s+/),
);

const escapes: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);

/** @returns undefined: the name cannot be escaped. */
export function escapeName(name: string): string | undefined {
  if (name === "" || !/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[.\-/]/g, (part) => escapes.get(part) ?? part);
}

/** The field named by an expression; names are escaped by `escapeName`. */
export function findField<F>(fields: ReadonlyMap<string, F>, name: string): F | undefined {
  const field = fields.get(name);
  return field === undefined && reserved.has(name) ? fields.get(`__${name}__`) : field;
}
