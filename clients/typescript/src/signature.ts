import { DarkroomError } from './darkroomError.ts'

// Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

/** The headers of a delivery, in whichever form a server gives them. */
export type DeliveryHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>

const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const

/**
 * Checks that a body was signed with the secret, less than `toleranceMs` away from the clock here. Throws
 * `invalid_signature`. After a rotation one of two signatures must be right.
 */
export async function verifySignature(
  body: string | Uint8Array,
  headers: DeliveryHeaders,
  { secret, toleranceMs }: { readonly secret: string; readonly toleranceMs: number },
): Promise<void> {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const key = await keyOf(secret, 'verify')
  const content = contentOf(id, timestamp, body)
  const signatures = headerOf(headers, 'webhook-signature').split(' ')
  const checks = signatures
    .filter((text) => text.startsWith('v1,'))
    .map((text) => crypto.subtle.verify(algorithm, key, bytesOf(text.slice(3)), content))
  if (!(await Promise.all(checks)).includes(true)) throw invalid('The signature is wrong.')
  if (!(Math.abs(Date.now() - Number(timestamp) * 1_000) <= toleranceMs)) {
    throw invalid(`The signature is not of now: it was made at ${timestamp}. Is the clock right?`)
  }
}

/** Returns the headers of a delivery, for tests of receivers. */
export async function signatureHeaders(
  body: string,
  { secret, id, at }: { readonly secret: string; readonly id: string; readonly at: Date },
) {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const key = await keyOf(secret, 'sign')
  const signature = await crypto.subtle.sign(algorithm, key, contentOf(id, timestamp, body))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`,
  }
}

function keyOf(secret: string, use: 'sign' | 'verify') {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (bytes.length === 0) throw invalid('Give the secret, or set DARKROOM_WEBHOOK_SECRET.')
  return crypto.subtle.importKey('raw', bytes, algorithm, false, [use])
}

function contentOf(id: string, timestamp: string, body: string | Uint8Array) {
  const encoder = new TextEncoder()
  const head = encoder.encode(`${id}.${timestamp}.`)
  const tail = typeof body === 'string' ? encoder.encode(body) : body
  const content = new Uint8Array(head.length + tail.length)
  content.set(head)
  content.set(tail, head.length)
  return content
}

/** Reads Base64. What is not Base64 is no signature. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

function headerOf(headers: DeliveryHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const [, value = ''] = Object.entries(headers).find(([each]) => each.toLowerCase() === name) ?? []
  return value.toString()
}

function invalid(message: string): DarkroomError {
  return new DarkroomError(message, { code: 'invalid_signature' })
}
