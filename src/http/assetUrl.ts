import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ImageMimeType } from '../domain/models.ts'
import type { TaskView } from '../domain/task.ts'
import type { SigningKey, SigningKeys } from './context.ts'

/** Raised when what is signed changes: old URLs then need their old rule for 24 hours. */
const version = '1'

const names: Readonly<Record<ImageMimeType, string>> = {
  'image/png': 'image.png',
  'image/jpeg': 'image.jpg',
  'image/webp': 'image.webp',
}

type Signed = {
  readonly keyId: string
  readonly taskId: string
  readonly name: string
  /** Epoch seconds, as text. */
  readonly expires: string
}

/**
 * The address of a task's image, which works without a header until the end of its retention (design
 * section 4): always the same for one task and key. `undefined` when the task has no image.
 */
export function assetUrl(
  task: TaskView,
  publicUrl: string,
  [key]: SigningKeys,
): string | undefined {
  const { taskId, asset, expiresAtMs } = task
  if (asset === undefined || expiresAtMs === undefined) return undefined
  const name = names[asset.mimeType]
  const expires = String(Math.floor(expiresAtMs / 1000))
  const signature = sign(key, { keyId: key.id, taskId, name, expires })
  const query = new URLSearchParams({ version, key: key.id, expires, signature })
  return `${publicUrl}/v1/assets/${taskId}/${name}?${query.toString()}`
}

/** True for exactly the addresses that `assetUrl` makes, of whatever age. */
export function isAssetUrl(
  keys: SigningKeys,
  path: { readonly taskId: string; readonly name: string },
  query: URLSearchParams,
): boolean {
  const given = Object.fromEntries(query)
  const { key: keyId = '', expires = '', signature = '' } = given
  const expected = new URLSearchParams({ version, key: keyId, expires, signature })
  if (query.toString() !== expected.toString()) return false
  const key = keys.find(({ id }) => id === keyId)
  // An unknown key costs the same work as a wrong signature.
  const right = sign(key ?? keys[0], { keyId, expires, ...path })
  return key !== undefined && sameText(right, signature)
}

/** As text, not as bytes: the last letter of base64url has bits that no byte sees. */
function sign(key: SigningKey, { keyId, taskId, name, expires }: Signed): string {
  const text = JSON.stringify(['darkroom asset', version, keyId, taskId, name, expires])
  return createHmac('sha256', key.secret).update(text).digest('base64url')
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
