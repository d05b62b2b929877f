import { createHmac, timingSafeEqual } from 'node:crypto'
import { fileExtensions } from '../domain/tasks/imageVariant.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { FormParameter } from '../schema/assetForm.ts'
import { isFormParameter } from '../schema/assetForm.ts'

/**
 * The first key signs new URLs. Every key verifies. So an operator can add a new first key, and URLs signed
 * with an older key stay valid.
 */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]
export type SigningKey = { readonly id: string; readonly secret: string }

/**
 * The version of the signed text. The signed text contains its version. Change the version when the signed text
 * gets other parts, so that no URL is valid under both forms.
 */
const version = '1'

/**
 * Returns the signed URL of a task's image, or `undefined` when the task has no image. The URL works without
 * an API key until the image expires. With the same signing key, the same task always gets the same URL.
 */
export function assetUrl(
  task: TaskView,
  publicUrl: string,
  [key]: SigningKeys,
): string | undefined {
  const { taskId, asset, expiresAtMs } = task
  if (asset === undefined || expiresAtMs === undefined) return undefined
  const name = `image.${fileExtensions[asset.mimeType]}`
  const expires = String(Math.floor(expiresAtMs / 1000))
  const signature = sign(key, { keyId: key.id, taskId, name, expires })
  const query = new URLSearchParams({ version, key: key.id, expires, signature })
  return `${publicUrl}/v1/assets/${taskId}/${name}?${query.toString()}`
}

const signedParameters = 4

/**
 * Returns what stands behind the signature of a URL that `assetUrl` can return, also of one that has expired: the
 * parameters that ask for another form of the image, unchecked. Returns `undefined` for every other URL.
 */
export function formParametersOf(
  keys: SigningKeys,
  path: { readonly taskId: string; readonly name: string },
  query: URLSearchParams,
): readonly FormParameter[] | undefined {
  const signed = new URLSearchParams([...query].slice(0, signedParameters))
  const form = [...query].slice(signedParameters)
  const { key: keyId = '', expires = '', signature = '' } = Object.fromEntries(signed)
  const expected = new URLSearchParams({ version, key: keyId, expires, signature })
  if (signed.toString() !== expected.toString() || !form.every(isFormParameter)) return undefined
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) return undefined
  return sameText(sign(key, { keyId, expires, ...path }), signature) ? form : undefined
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
 * Compares in constant time. Compares the texts, not the decoded bytes, because two texts that differ only in
 * their last letter can decode to the same bytes.
 */
function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
