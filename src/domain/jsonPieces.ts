import type { Json } from './json.ts'
import { isArray } from './json.ts'

const sliceLength = 32 * 1024

/**
 * Yields the JSON text of a value in pieces, so that a text of many megabytes is not made at once: that would
 * block the process. `sorted`: the keys of every object are sorted by code unit.
 */
export function* jsonPieces(value: Json, keys: 'sorted' | 'as given'): Generator<string> {
  if (typeof value === 'string') {
    yield* textPieces(value)
  } else if (value === null || typeof value !== 'object') {
    yield JSON.stringify(value)
  } else if (isArray(value)) {
    yield '['
    for (const [at, item] of value.entries()) {
      if (at > 0) yield ','
      yield* jsonPieces(item, keys)
    }
    yield ']'
  } else {
    const members = Object.entries(value)
    if (keys === 'sorted') members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    yield '{'
    for (const [at, [key, member]] of members.entries()) {
      yield `${at > 0 ? ',' : ''}${JSON.stringify(key)}:`
      yield* jsonPieces(member, keys)
    }
    yield '}'
  }
}

function* textPieces(text: string): Generator<string> {
  if (text.length <= sliceLength) {
    yield JSON.stringify(text)
    return
  }
  yield '"'
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + sliceLength, text.length)
    // JSON.stringify escapes half a character, so a slice must not end inside one.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
    yield JSON.stringify(text.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

/** Returns whether a UTF-16 code unit is the first half of a character. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
