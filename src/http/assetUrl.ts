import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ImageMimeType } from '../domain/models.ts'
import type { TaskView } from '../domain/task.ts'
import type { SigningKey, SigningKeys } from './context.ts'

/** Part of the signed text. It must change when the signed text gets another form. */
const version = '1'

const names: Readonly<Record<ImageMimeType, string>> = {
  'image/png': 'image.png',
  'image/jpeg': 'image.jpg',
  'image/webp': 'image.webp',
}

/**
 * The signed URL of a task's image. It works without an API key until the image expires. The URL of one task
 * under one signing key is always the same. `undefined` when the task has no image.
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

/** True for exactly the URLs that `assetUrl` returns, expired ones included. */
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
  // An unknown key takes as long as a wrong signature, so that nobody can find key ids by timing.
  const expectedSignature = sign(key ?? keys[0], { keyId, expires, ...path })
  return key !== undefined && sameText(expectedSignature, signature)
}

type Signed = {
  readonly keyId: string
  readonly taskId: string
  readonly name: string
  /** Epoch seconds, as text. */
  readonly expires: string
}

function sign(key: SigningKey, { keyId, taskId, name, expires }: Signed): string {
  const text = JSON.stringify(['darkroom asset', version, keyId, taskId, name, expires])
  return createHmac('sha256', key.secret).update(text).digest('base64url')
}

/**
 * In constant time. Signatures are compared as text: two texts that differ in the last letter may decode to
 * the same bytes.
 */
function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
