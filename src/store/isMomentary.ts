import { DatabaseError } from 'pg'

/** 40001 and 40P01: nothing is wrong but the moment (research reliability.md section 1). */
const momentary = new Set(['40001', '40P01'])

/** A serialization failure or a deadlock: the same work may be begun again. */
export function isMomentary(error: unknown): boolean {
  return error instanceof DatabaseError && momentary.has(error.code ?? '')
}
