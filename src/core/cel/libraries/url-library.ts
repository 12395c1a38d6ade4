/** kubernetes.urls: URLs as Go's net/url parses them. */
import {
  UrlError,
  escapedPath,
  hostText,
  hostnameText,
  parseRequestUri,
  parseUrl,
  portText,
  queryValues,
  urlText,
} from "./go-url.ts";
import type { GoUrl } from "./go-url.ts";
import {
  accepts,
  declare,
  free,
  listOf,
  mapOf,
  member,
  noSuchOverload,
  parsed,
  textOf,
  types,
} from "./library.ts";
import type { Library, LibraryOverload, LibraryType } from "./library.ts";
import { OpaqueValue, listValue, mapValue } from "./values.ts";
import type { Value } from "./values.ts";

class UrlValue extends OpaqueValue {
  readonly url: GoUrl;

  constructor(url: GoUrl) {
    super(types.url.name);
    this.url = url;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && urlText(this.url) === urlText(other.url);
  }

  override print(): string {
    return urlText(this.url);
  }
}

function urlOf(value: Value | undefined): GoUrl {
  if (!(value instanceof UrlValue)) throw noSuchOverload();
  return value.url;
}

function part(id: string, result: LibraryType, read: (url: GoUrl) => Value): LibraryOverload {
  return member(id, [types.url], result, (url) => read(urlOf(url)));
}

const parseFailure = "URL parse error during conversion from string: ";

export const urlLibrary: Library = {
  name: "kubernetes.urls",
  since: 0,
  functions: [
    declare(
      "url",
      free("string_to_url", [types.string], types.url, (text) => {
        return new UrlValue(parsed(UrlError, () => parseUrl(textOf(text)), parseFailure));
      }),
    ),
    declare(
      "isURL",
      free("is_url_string", [types.string], types.bool, (text) =>
        accepts(UrlError, () => parseRequestUri(textOf(text))),
      ),
    ),
    declare(
      "getScheme",
      part("url_get_scheme", types.string, (url) => url.scheme),
    ),
    declare("getHost", part("url_get_host", types.string, hostText)),
    declare("getHostname", part("url_get_hostname", types.string, hostnameText)),
    declare("getPort", part("url_get_port", types.string, portText)),
    declare("getEscapedPath", part("url_get_escaped_path", types.string, escapedPath)),
    declare("getQuery", part("url_get_query", mapOf(types.string, listOf(types.string)), queryMap)),
  ],
};

function queryMap(url: GoUrl): Value {
  const entries = [...queryValues(url)].map(([name, values]): [Value, Value] => [
    name,
    listValue(values),
  ]);
  return mapValue(entries);
}
