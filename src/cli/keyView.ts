import type { ApiKey } from '../domain/account.ts'
import { isoOrNull, shortTime } from './moment.ts'
import { table } from './table.ts'

/** Design section 3, JSON fields of `key list`; a time that is not is null. */
export function keyJson({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs }: ApiKey) {
  return {
    key_id: keyId,
    prefix,
    created_at: isoOrNull(createdAtMs),
    expires_at: isoOrNull(expiresAtMs),
    revoked_at: isoOrNull(revokedAtMs),
  }
}

/** Keys for people. */
export function keyTable(keys: readonly ApiKey[]): string {
  return table(
    ['KEY ID', 'BEGINS', 'CREATED', 'EXPIRES', 'REVOKED'],
    keys.map(({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs }) => [
      keyId,
      `${prefix}…`,
      shortTime(createdAtMs),
      shortTime(expiresAtMs),
      shortTime(revokedAtMs),
    ]),
    'No keys yet. Make one: darkroom key create ACCOUNT',
  )
}
