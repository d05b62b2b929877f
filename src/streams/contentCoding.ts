import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'

export type ContentCoding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** More than one coding is lawful and rare; a stack of many multiplies what one small body unpacks to. */
const codingsMax = 3

const codings: ReadonlyMap<string, ContentCoding | 'identity'> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['identity', 'identity'],
])

/**
 * The codings of a Content-Encoding header in the order they were applied (RFC 9110 section 8.4);
 * `identity` is left out. An unknown coding or too many of them is `unsupported`.
 */
export function parseContentEncoding(
  header: string | undefined,
): Result<readonly ContentCoding[], 'unsupported'> {
  const names = (header ?? '').split(',').map((name) => name.trim().toLowerCase())
  const applied: ContentCoding[] = []
  for (const name of names) {
    if (name === '') continue
    const coding = codings.get(name)
    if (coding === undefined) return fail('unsupported')
    if (coding !== 'identity') applied.push(coding)
  }
  return applied.length > codingsMax ? fail('unsupported') : succeed(applied)
}
