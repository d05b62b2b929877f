import { createHmac } from 'node:crypto'

/** A pepper: the first of a list hashes new keys, all of them verify (design section 3, KEY_PEPPER). */
export type Pepper = { readonly id: string; readonly secret: string }

/** Keys are random, so a fast keyed hash is enough: a stolen database without the pepper is useless. */
export function secretHash(pepper: Pepper, secret: string): Uint8Array {
  return createHmac('sha256', pepper.secret).update(secret).digest()
}
