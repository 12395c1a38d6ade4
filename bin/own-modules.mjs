/**
 * Finds the product's own modules without asking the file system.
 *
 * Node resolves an import by reading package.json files up the tree, a stat and a realpath. A thousand modules are
 * loaded, and that takes as long as compiling them. Here `#room/x.ts` and `./x.ts` of a module under `folder` are
 * what they say. Everything else goes Node's way. A file that is missing fails when it is read.
 */
import module from "node:module";

const formats = { ".ts": "module-typescript", ".js": "module" };

/**
 * `folder` is src or dist, as a file URL that ends in a slash, without symbolic links; `imports` is what
 * package.json says of `#room/*`. Imports of dist are relative.
 */
export function resolveOwnModules(folder, imports) {
  module.registerHooks?.({
    resolve(specifier, context, nextResolve) {
      const url = ownModule({ folder, imports }, specifier, context.parentURL);
      if (url === undefined) return nextResolve(specifier, context);
      return { url, format: formats[url.slice(-3)], shortCircuit: true };
    },
  });
}

/** Its URL; undefined for what is not the product's own code. */
export function ownModule({ folder, imports }, specifier, parentUrl) {
  const isRoom = specifier.startsWith("#");
  const mayBeOwn = isRoom || specifier.startsWith("./") || specifier.startsWith("../");
  if (!mayBeOwn || parentUrl?.startsWith(folder) !== true) return undefined;
  const { href } = isRoom
    ? new URL(pathInSource(specifier, imports), folder)
    : new URL(specifier, parentUrl);
  return href.startsWith(folder) && href.slice(-3) in formats ? href : undefined;
}

/** `#store/open.ts` -> `commit/store/open.ts`. */
function pathInSource(specifier, imports) {
  const slash = specifier.indexOf("/");
  const room = imports[`${specifier.slice(0, slash)}/*`];
  return `${room?.slice("./src/".length, -1)}${specifier.slice(slash + 1)}`;
}
