import { defined } from '../../../src/domain/defined.ts'
import type { ImageSize, ModelId } from '../../../src/domain/models/models.ts'
import { contractModels, modelsOf } from '../../../src/domain/models/models.ts'
import type { Client } from '../clients/client.ts'
import { editBody, formBody, formType, generateBody } from '../clients/requestBodies.ts'
import { editParts } from '../clients/syncCalls.ts'
import type { Seeded } from '../seeded.ts'
import { modelOf } from '../models.ts'

const asyncKinds = ['generate', 'edit', 'asyncGenerateContent'] as const
const syncKinds = ['generations', 'edits', 'generateContent'] as const

/** One request under one idempotency key, on one of the accepting routes. */
export type KeyedRequest = {
  readonly kind: (typeof asyncKinds)[number] | (typeof syncKinds)[number]
  readonly isSync: boolean
  readonly model: ModelId
  readonly size?: ImageSize
  /** A synchronous call asks for a stream. */
  readonly stream?: boolean
  /** Its start names the request in the call log of the simulator. */
  readonly prompt: string
  readonly key: string
}

/** One answer of Darkroom. */
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string }

/** Faults of the upstream. Their waits are short, so that all tasks end soon. */
export const upstreamFaults = [
  '429 retry-after=2 times=1',
  '429 form=none times=2',
  '503 times=1',
  '500 times=1',
  '500 times=2',
  '500',
  '502 times=1',
  'reset times=1',
  'hang times=1',
  'truncated times=1',
  'html times=1',
  'bad-base64 times=1',
  'moderation',
  '400',
  'zero',
  'quota',
  'delay ms=1500',
  'delay ms=3000',
  'slow chunks=5 interval=100',
] as const

/** Chooses a route, a model and a size at random. The images are tiny, so most sizes lead to a refund. */
export function pickKind(chance: Seeded): Pick<KeyedRequest, 'kind' | 'isSync' | 'model' | 'size'> {
  const isSync = chance.chance(0.5)
  const kind = chance.pick(isSync ? syncKinds : asyncKinds)
  const models = {
    generate: contractModels,
    edit: contractModels,
    generations: modelsOf.B,
    edits: modelsOf.B,
    generateContent: modelsOf.A,
    asyncGenerateContent: modelsOf.A,
  }
  const model = chance.pick(models[kind])
  const { sizes } = modelOf(model)
  const size = chance.chance(0.75) ? chance.pick(sizes) : undefined
  return { isSync, kind, model, ...defined({ size }) }
}

/**
 * Sends a request once, and breaks the connection after `limitMs`. Resolves with the answer, for a synchronous call at
 * the end of its task, or with `none` when no answer arrives.
 */
export async function sendRequest(
  { url, authorization }: Pick<Client, 'url' | 'authorization'>,
  request: KeyedRequest,
  limitMs: number,
): Promise<Answer | 'none'> {
  const { path, body } = sentOf(request)
  const type = Buffer.isBuffer(body) ? formType : 'application/json'
  try {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': type, 'idempotency-key': request.key },
      body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body),
      signal: AbortSignal.timeout(limitMs),
    })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  } catch {
    return 'none'
  }
}

function sentOf({ kind, model, prompt, stream = false, ...rest }: KeyedRequest): {
  readonly path: string
  readonly body: object
} {
  const size = defined({ size: rest.size })
  const fields = { model, prompt, ...size }
  switch (kind) {
    case 'generate':
      return { path: '/v1/images/tasks', body: generateBody(fields) }
    case 'edit':
      return { path: '/v1/images/tasks', body: editBody(fields) }
    case 'generations':
      return { path: '/v1/images/generations', body: { ...fields, stream } }
    case 'edits':
      return {
        path: '/v1/images/edits',
        body: formBody(editParts({ ...fields, stream: String(stream) })),
      }
    case 'asyncGenerateContent':
    case 'generateContent': {
      const imageConfig = defined({ imageSize: rest.size })
      const body = { contents: [{ parts: [{ text: prompt }] }], generationConfig: { imageConfig } }
      const method = stream ? 'streamGenerateContent?alt=sse' : kind
      return { path: `/v1beta/models/${model}:${method}`, body }
    }
    default:
      throw new Error(kind satisfies never)
  }
}

/** Returns the `error.code` of an answer, or `undefined` for an image and for a body that is not JSON. */
export function codeOf({ status, text }: Answer): string | undefined {
  if (status < 400) return undefined
  try {
    return Object(JSON.parse(text)).error?.code
  } catch {
    return undefined
  }
}
