/**
 * Paths of proxied requests: the part after `/proxy`, cleaned and encoded as by Go's url package.
 *
 * Holds  `.`, `..` and empty segments, also those of decoded slashes and dots, are resolved before a path is sent. A
 *        path never leads above the backend's root.
 */

/** Go's path.Clean of a rooted path, with the slash at its end kept. "" stays "". */
export function cleanPath(path: string): string {
  if (path === "") return "";
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment === "..") kept.pop();
    else kept.push(segment);
  }
  const isOpen = path.endsWith("/") && kept.length > 0;
  return `/${kept.join("/")}${isOpen ? "/" : ""}`;
}

/** Go's EscapedPath: unreserved characters and `$&+,/:;=@` stand for themselves. */
export function escapedPath(path: string): string {
  return encodeURIComponent(path.toWellFormed())
    .replaceAll(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, (code) => decodeURIComponent(code))
    .replaceAll(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
}
