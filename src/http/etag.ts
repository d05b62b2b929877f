/** If-None-Match against one strong ETag (RFC 9110 section 13.1.2: weak comparison). */
export function etagMatches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
