import { createHash } from 'node:crypto'
import { ConfigError } from './configError.ts'

/** The first of a list makes, all of them verify: so secrets are rotated without an outage. */
export type Secret = { readonly id: string; readonly secret: string }

/**
 * `id:secret,id:secret`, or a lone secret, whose id is then derived from it. At least 16 characters each.
 * Throws `ConfigError` naming the variable, never with a secret's text.
 */
export function readSecrets(
  variable: string,
  value: string | undefined,
): readonly Secret[] | undefined {
  if (value === undefined) return undefined
  return value.split(',').map((item) => {
    const colon = item.indexOf(':')
    const secret = item.slice(colon + 1).trim()
    if (secret.length < 16)
      throw new ConfigError(`${variable}: each secret needs 16 characters or more`)
    const digest = createHash('sha256').update(secret).digest('hex')
    const id = colon > 0 ? item.slice(0, colon).trim() : digest.slice(0, 8)
    if (!/^[0-9A-Za-z]{1,16}$/.test(id)) {
      throw new ConfigError(`${variable}: an id is 1 to 16 letters or digits`)
    }
    return { id, secret }
  })
}
