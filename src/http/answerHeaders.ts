/** A header of answers: what it says, and its value as JSON Schema. */
type AnswerHeader = {
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
}

const text = { type: 'string' }
const digits = { type: 'string', pattern: '^[0-9]+$' }

function oneOf(...values: readonly string[]) {
  return { type: 'string', enum: values }
}

/** Every header of answers that clients may rely on, by its name as sent. */
export const answerHeaders = {
  'x-request-id': {
    description: 'Names this request in logs. Report it with every problem.',
    schema: { type: 'string', pattern: '^req_[0-9A-Za-z]{24}$' },
  },
  'Cache-Control': {
    description: 'Whether and how long the answer may be stored.',
    schema: text,
  },
  'Idempotent-Replayed': {
    description: '`true` when the Idempotency-Key named an existing task. Absent without a key.',
    schema: oneOf('true', 'false'),
  },
  Location: {
    description: 'The address of the record of the task.',
    schema: { type: 'string', format: 'uri' },
  },
  'X-Task-Id': {
    description: 'The task of this call. Its record has the image, also when this answer is lost.',
    schema: { type: 'string', pattern: '^task_[0-9A-Za-z]{32}$' },
  },
  'Retry-After': { description: 'Seconds to wait before the next request.', schema: digits },
  'x-should-retry': {
    description: 'Present when another request cannot help, or may repeat work that is paid for.',
    schema: oneOf('false'),
  },
  'X-Credits-Held': {
    description: 'Credits that this request holds until its task ends.',
    schema: digits,
  },
  'X-Credits-Charged': {
    description: 'Credits that the task cost. 0 when it failed.',
    schema: digits,
  },
  'Preference-Applied': {
    description: 'The preference of the request that was honoured (RFC 7240), such as `wait=30`.',
    schema: text,
  },
  'X-Accel-Buffering': {
    description: 'Tells proxies to pass each event on at once.',
    schema: oneOf('no'),
  },
  'WWW-Authenticate': { description: 'How to authenticate (RFC 6750).', schema: text },
  ETag: { description: 'Identifies the content.', schema: text },
  'Accept-Ranges': {
    description: 'A part of the content can be requested with `Range`.',
    schema: oneOf('bytes'),
  },
  'Content-Range': {
    description: 'Which part of the content this is (RFC 9110 section 14.4).',
    schema: text,
  },
  'Content-Disposition': {
    description: 'The name under which a browser saves the content.',
    schema: text,
  },
  'Content-Security-Policy': {
    description: 'What a browser may load and run when it shows the content as a page.',
    schema: text,
  },
  'Cross-Origin-Resource-Policy': {
    description: 'Web pages of any origin may show the content.',
    schema: oneOf('cross-origin'),
  },
} as const satisfies Readonly<Record<string, AnswerHeader>>

type HeaderName = keyof typeof answerHeaders

/** The name of a header that every such answer has. With a question mark, only some answers have the header. */
export type HeaderUse = HeaderName | `${HeaderName}?`

/** Returns the header that a use names, and whether every answer has it. */
export function headerOf(use: HeaderUse): AnswerHeader & { name: string; required: boolean } {
  const found = Object.entries(answerHeaders).find(([name]) => use === name || use === `${name}?`)
  if (found === undefined) throw new Error(`Bug: no header ${use}`)
  const [name, header] = found
  return { ...header, name, required: use === name }
}
