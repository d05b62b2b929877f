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
    if (secret.length < secretCharsMin || new Set(secret).size < differentCharsMin) {
      throw new ConfigError(
        `${variable}: each secret needs ${secretCharsMin} characters or more, and ${differentCharsMin} ` +
          'different ones among them. `openssl rand -hex 32` makes one.',
      )
    }
    const digest = createHash('sha256').update(secret).digest('hex')
    const id = colon > 0 ? item.slice(0, colon).trim() : digest.slice(0, 8)
    if (!/^[0-9A-Za-z]{1,16}$/.test(id)) {
      throw new ConfigError(`${variable}: an id is 1 to 16 letters or digits`)
    }
    return { id, secret }
  })
  if (new Set(secrets.map(({ id }) => id)).size < secrets.length) {
    throw new ConfigError(`${variable}: two secrets have the same id`)
  }
  const [first, ...others] = secrets
  if (first === undefined) throw new Error('Bug: a text was split into no parts')
  return [first, ...others]
}
