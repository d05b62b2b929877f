/** Version 00, the only one there is: `00-<trace id>-<span id>-<flags>`. An id of zeros names nothing. */
const grammar = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Returns a `traceparent` header, which says which span of the client asked, if it follows the grammar of W3C Trace
 * Context (section 3.2). Returns `undefined` for every other text, because the standard wants it to be ignored.
 */
export function readTraceparent(header: string): string | undefined {
  return grammar.test(header) ? header : undefined
}
