/**
 * Returns whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2). Koa's
 * `context.fresh` is not used here: it never matches a request with `Cache-Control: no-cache`, which Node's
 * `fetch` adds to a request with an If-None-Match.
 */
export function etagMatches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
