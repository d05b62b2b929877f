/** Returns whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2). */
export function etagMatches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
