import { createHash } from 'node:crypto'
import { ConfigError } from './configError.ts'

export type Secret = { readonly id: string; readonly secret: string }

const secretCharsMin = 16
/** A secret of `openssl rand -hex 32` has more different characters. A placeholder such as `xxxxxxx…` has fewer. */
const differentCharsMin = 8

/**
 * Reads a list such as `id:secret,id:secret`. An item may be a secret without an id; its id is then computed
 * from the secret. Each id occurs once, because signatures and keys name their secret by its id. Each secret
 * needs at least 16 characters, with at least 8 different ones among them. Throws `ConfigError` with the name of
 * the variable, never with a secret.
 */
export function readSecrets(
  variable: string,
  value: string | undefined,
): readonly [Secret, ...Secret[]] | undefined {
  if (value === undefined) return undefined
  const secrets = value.split(',').map((item) => {
    const colon = item.indexOf(':')
    const secret = item.slice(colon + 1).trim()
    const digest = createHash('sha256').update(secret).digest('hex')
    const id = colon > 0 ? item.slice(0, colon).trim() : digest.slice(0, 8)
    return { id, secret }
  })
  return usable(variable, secrets)
}

export type AdminKey = Secret & { readonly role: AdminRole }

/** A viewer reads. An operator reads everything and changes it. */
export type AdminRole = 'viewer' | 'operator'

/** What a header can carry as a bearer token (RFC 6750 section 2.1). */
const bearerToken = /^[0-9A-Za-z._~+/-]+=*$/

/**
 * Reads ADMIN_KEYS: `id:secret` of an operator or `id:secret:viewer`, separated by commas. The rules of `readSecrets`
 * apply, but each key needs an id, which names it in the record of changes. Throws `ConfigError`, never with a secret.
 */
export function readAdminKeys(
  value: string | undefined,
): readonly [AdminKey, ...AdminKey[]] | undefined {
  if (value === undefined) return undefined
  const variable = 'ADMIN_KEYS'
  const keys = value.split(',').map((item): AdminKey => {
    const [id, secret, role = 'operator', ...more] = item.split(':').map((part) => part.trim())
    if (id === undefined || secret === undefined || more.length > 0) {
      throw new ConfigError(`${variable}: a key is written id:secret or id:secret:viewer`)
    }
    if (role !== 'viewer' && role !== 'operator') {
      throw new ConfigError(`${variable}: a role is viewer or operator`)
    }
    return { id, secret, role }
  })
  if (keys.some(({ secret }) => !bearerToken.test(secret))) {
    throw new ConfigError(
      `${variable}: a secret is letters, digits and -._~+/ (it goes in a header)`,
    )
  }
  if (new Set(keys.map(({ secret }) => secret)).size < keys.length) {
    throw new ConfigError(`${variable}: two keys have the same secret`)
  }
  return usable(variable, keys)
}

/** Returns the secrets when all are usable. Throws `ConfigError`, never with a secret. */
function usable<Item extends Secret>(
  variable: string,
  secrets: readonly Item[],
): readonly [Item, ...Item[]] {
  for (const { id, secret } of secrets) {
    if (secret.length < secretCharsMin || new Set(secret).size < differentCharsMin) {
      throw new ConfigError(
        `${variable}: each secret needs ${secretCharsMin} characters or more, and ${differentCharsMin} ` +
          'different ones among them. `openssl rand -hex 32` makes one.',
      )
    }
    if (!/^[0-9A-Za-z]{1,16}$/.test(id)) {
      throw new ConfigError(`${variable}: an id is 1 to 16 letters or digits`)
    }
  }
  if (new Set(secrets.map(({ id }) => id)).size < secrets.length) {
    throw new ConfigError(`${variable}: two secrets have the same id`)
  }
  const [first, ...others] = secrets
  if (first === undefined) throw new Error('Bug: a text was split into no parts')
  return [first, ...others]
}
