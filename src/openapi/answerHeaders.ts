/** A header of answers: its value as JSON Schema. */
type AnswerHeader = {
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly example: string
}

const text = { type: 'string' }

/** Every header of answers that clients may rely on, by its name as sent. */
export const answerHeaders = {
  'x-request-id': {
    description: 'Names this request in logs. Report it with every problem.',
    schema: { type: 'string', pattern: '^req_[0-9A-Za-z]{24}$' },
    example: 'req_0a1b2c3d4e5f6g7h8i9j0k1l',
  },
  'Cache-Control': {
    description: 'Whether and how long the answer may be stored.',
    schema: text,
    example: 'no-store',
  },
  'Idempotent-Replayed': {
    description: '`true` when the Idempotency-Key named an existing task. Absent without a key.',
    schema: { type: 'string', enum: ['true', 'false'] },
    example: 'false',
  },
  Location: {
    description: 'The address of the record of the task.',
    schema: { type: 'string', format: 'uri' },
    example: 'https://images.example/v1/tasks/task_0123456789ABCDEFGHIJKLMNOPQRSTUV',
  },
  'X-Task-Id': {
    description: 'The task of this call. Its record has the image, also when this answer is lost.',
    schema: { type: 'string', pattern: '^task_[0-9A-Za-z]{32}$' },
    example: 'task_0123456789ABCDEFGHIJKLMNOPQRSTUV',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next request.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '3',
  },
  'x-should-retry': {
    description: 'Present when another request cannot help, or may repeat work that is paid for.',
    schema: { type: 'string', enum: ['false'] },
    example: 'false',
  },
  'X-Credits-Held': {
    description: 'Credits that this request holds until its task ends.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '211',
  },
  'X-Credits-Charged': {
    description: 'Credits that the task cost. 0 when it failed.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '211',
  },
  'Preference-Applied': {
    description: 'The preference of the request that was honoured (RFC 7240).',
    schema: text,
    example: 'wait=30',
  },
  'X-Accel-Buffering': {
    description: 'Tells proxies to pass each event on at once.',
    schema: { type: 'string', enum: ['no'] },
    example: 'no',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: text,
    example: 'Bearer realm="darkroom", error="invalid_token"',
  },
  ETag: { description: 'Identifies the content.', schema: text, example: '"9f86d081884c7d65"' },
  'Accept-Ranges': {
    description: 'A part of the content can be requested with `Range`.',
    schema: { type: 'string', enum: ['bytes'] },
    example: 'bytes',
  },
  'Content-Range': {
    description: 'Which part of the content this is (RFC 9110 section 14.4).',
    schema: text,
    example: 'bytes 0-1023/81920',
  },
  'Content-Disposition': {
    description: 'The name under which a browser saves the content.',
    schema: text,
    example: 'inline; filename="task_0123456789ABCDEFGHIJKLMNOPQRSTUV.png"',
  },
  'Content-Security-Policy': {
    description: 'What a browser may load and run when it shows the content as a page.',
    schema: text,
    example: "sandbox; default-src 'none'",
  },
  'Cross-Origin-Resource-Policy': {
    description: 'Web pages of any origin may show the content.',
    schema: { type: 'string', enum: ['cross-origin'] },
    example: 'cross-origin',
  },
} as const satisfies Readonly<Record<string, AnswerHeader>>

export type HeaderName = keyof typeof answerHeaders

/** The headers of one answer. `always`: every such answer has the header. `sometimes`: only some have it. */
export type Headers = { readonly [Name in HeaderName]?: Presence }

/** The headers of every answer. */
export const commonHeaders: Headers = { 'x-request-id': 'always', 'Cache-Control': 'always' }

/** Returns the headers of one answer as references to the components of `headerComponents`. */
export function headerReferences(headers: Headers): Record<string, { $ref: string }> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, presence]) => [
      name,
      { $ref: `#/components/headers/${componentName(name, presence)}` },
    ]),
  )
}

/** Returns each header as a component, once as required and once as optional. */
export function headerComponents(): Record<string, AnswerHeader & { readonly required: boolean }> {
  return Object.fromEntries(
    Object.entries(answerHeaders).flatMap(([name, header]) =>
      (['always', 'sometimes'] as const).map((presence) => [
        componentName(name, presence),
        { ...header, required: presence === 'always' },
      ]),
    ),
  )
}

type Presence = 'always' | 'sometimes'

function componentName(name: string, presence: Presence): string {
  return presence === 'always' ? name : `${name}.optional`
}
