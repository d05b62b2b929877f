import * as fc from 'fast-check'
import sharp from 'sharp'

/** A picture of the property test. Its width tells it from the others, also when it is converted to PNG. */
export type KnownPicture = { readonly width: number; readonly bytes: Buffer }

/** Draws PNG, JPEG and WebP pictures of different widths. */
export function drawPictures(): Promise<readonly KnownPicture[]> {
  const formats = ['png', 'png', 'png', 'jpeg', 'webp'] as const
  return Promise.all(
    formats.map(async (format, at) => {
      const width = 10 + at
      const create = { width, height: 9, channels: 3, background: 'teal' } as const
      return { width, bytes: await sharp({ create }).toFormat(format).toBuffer() }
    }),
  )
}

/** An answer of an upstream: known shapes, mixed, with names changed, and cut. */
export type AnyAnswer = {
  readonly family: 'A' | 'B'
  readonly contentType: string
  readonly body: Buffer
}

type Items = readonly unknown[]

/** Makes any answer. */
export function anyAnswer(pictures: readonly KnownPicture[]): fc.Arbitrary<AnyAnswer> {
  const picture = fc.constantFrom(...pictures).map(({ bytes }) => bytes)
  const letters = fc
    .tuple(picture, fc.constantFrom<(bytes: Buffer) => string>(...writings))
    .map(([bytes, write]) => write(bytes))
  const text = fc.oneof(
    { weight: 8, arbitrary: letters },
    {
      weight: 1,
      arbitrary: fc.tuple(letters, fc.double({ min: 0, max: 0.99, noNaN: true })).map(cut),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', 'aGVsbG8=', 'https://elsewhere.invalid/1.png', '!', null, 7),
    },
  )
  const places = ['b64_json', 'b64_json', 'b64', 'url', 'image', 'image_base64', 'foo'] as const
  const item = fc.oneof(
    fc.tuple(fc.constantFrom(...places), text).map(([name, value]) => ({ [name]: value })),
    text,
    fc.constant({ revised_prompt: 'A barn' }),
    text.map((data) => ({ type: 'image_generation.partial_image', b64_json: data })),
  )
  const part = fc.oneof(
    text.map((data) => ({ inlineData: { mimeType: 'image/png', data } })),
    text.map((data) => ({ inline_data: { mime_type: 'image/png', data }, thought_signature: 'x' })),
    text.map((data) => ({ inlineData: { mimeType: 'image/png', data }, thought: true })),
    text.map((fileUri) => ({ fileData: { mimeType: 'image/png', fileUri } })),
    fc.constant({ text: 'Here is your image.' }),
    fc.constant({ text: 'Planning', thought: true }),
  )
  const words = ['STOP', 'STOP', 'STOP', 'MAX_TOKENS', 'SAFETY', 'NO_IMAGE', 'NEW_WORD'] as const
  const candidate = fc.record({
    content: fc.record({ parts: fc.array(part, { maxLength: 4 }), role: fc.constant('model') }),
    finishReason: fc.constantFrom(...words),
  })
  const codes = ['moderation_blocked', 'insufficient_quota', 'rate_limit_exceeded', 'odd', 500]
  const error = fc.constantFrom(...codes).map((code) => ({ error: { code, message: 'No.' } }))
  const parts = [
    fc.array(item, { maxLength: 3 }).map((data: Items) => ({ created: 1, data })),
    item.map((data) => ({ created: 1, data })),
    fc.array(candidate, { maxLength: 2 }).map((candidates: Items) => ({ candidates })),
    text.map((b64_json) => ({ created: 1, b64_json })),
    fc.array(text, { maxLength: 2 }).map((images: Items) => ({ created: 1, images })),
    error,
    fc.constant({ created: 1, usage: { total_tokens: 5, output_tokens: 5 } }),
    fc.constant({ promptFeedback: { blockReason: 'SAFETY' } }),
    fc.constant({ usageMetadata: { totalTokenCount: 5 }, responseId: 'r-1' }),
  ]
  const document = fc
    .array(fc.oneof(...parts), { minLength: 1, maxLength: 2 })
    .map((mixed): object => Object.assign({}, ...mixed))
  const json = fc.tuple(document, rename).map(([value, change]) => change(JSON.stringify(value)))
  const events = fc.array(anyEvent(text, document), { minLength: 1, maxLength: 3 })
  const bodies = fc.oneof(
    { weight: 6, arbitrary: json.map((written) => ['application/json', written] as const) },
    { weight: 1, arbitrary: json.map((written) => ['application/json', `[${written}]`] as const) },
    { weight: 2, arbitrary: events.map((all) => ['text/event-stream', all.join('')] as const) },
    { weight: 1, arbitrary: picture.map((bytes) => ['image/png', bytes] as const) },
    {
      weight: 1,
      arbitrary: letters.map(
        (data) => ['text/html', `<html><img src="data:image/png;base64,${data}"></html>`] as const,
      ),
    },
  )
  const wholeness = fc.oneof(
    { weight: 8, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  )
  const around = fc.constantFrom('', '', '', '\uFEFF', '\n\n  ')
  return fc
    .record({ family: fc.constantFrom('A', 'B'), sent: bodies, wholeness, around })
    .map(({ family, sent: [contentType, content], wholeness, around }) => {
      const whole = Buffer.isBuffer(content) ? content : Buffer.from(around + content)
      const body = whole.subarray(0, Math.ceil(whole.length * wholeness))
      return { family, contentType, body } as const
    })
}

const writings = [
  (bytes: Buffer) => bytes.toString('base64'),
  (bytes: Buffer) => bytes.toString('base64'),
  (bytes: Buffer) => bytes.toString('base64url'),
  (bytes: Buffer) => bytes.toString('base64').replaceAll('=', ''),
  (bytes: Buffer) => bytes.toString('base64').replaceAll(/(.{76})/g, '$1\n'),
  (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`,
] as const

function cut([text, share]: readonly [string, number]): string {
  return text.slice(0, text.length * share)
}

/** Changes one name of a document into another one, wherever it stands. */
const names = [
  'b64_json',
  'data',
  'inlineData',
  'parts',
  'content',
  'candidates',
  'images',
] as const
const others = ['image', 'bytes', 'result', 'items', 'output', 'partial_image', 'data'] as const
const rename: fc.Arbitrary<(json: string) => string> = fc.oneof(
  { weight: 3, arbitrary: fc.constant((json: string) => json) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...names), fc.constantFrom(...others)).map(
      ([from, to]) =>
        (json: string) =>
          json.replaceAll(`"${from}":`, `"${to}":`),
    ),
  },
)

function anyEvent(text: fc.Arbitrary<unknown>, document: fc.Arbitrary<object>) {
  const types = [
    'image_generation.partial_image',
    'image_generation.completed',
    'image_edit.completed',
    'image_generation.in_progress',
  ] as const
  const typed = fc.tuple(fc.constantFrom(...types), text).map(([type, b64_json]) => {
    const event = JSON.stringify({ type, b64_json })
    return `event: ${type}\ndata: ${event}\n\n`
  })
  return fc.oneof(
    { weight: 3, arbitrary: typed },
    { weight: 1, arbitrary: document.map((value) => `data: ${JSON.stringify(value)}\n\n`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ': keep-alive\n\n',
        'data: [DONE]\n\n',
        'event: error\ndata: {"type":"error","code":"moderation_blocked","message":"No."}\n\n',
      ),
    },
  )
}
