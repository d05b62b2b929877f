import { z } from 'zod'
import { idForms } from '../../domain/ids.ts'

const digits = '^[0-9]+$'

/**
 * Every header of answers that clients may rely on, by its name as sent: what it says and, where a pattern can tell,
 * which values it has.
 */
export const answerHeaders = {
  'x-request-id': [
    'Names this request in logs. Report it with every problem.',
    '^req_[0-9A-Za-z]{24}$',
  ],
  'Cache-Control': ['Whether and how long the answer may be stored.'],
  'Idempotent-Replayed': [
    '`true` when the Idempotency-Key named an existing task. Absent without a key.',
    '^(true|false)$',
  ],
  Location: ['The address of the record of the task.', '^https?://'],
  'X-Task-Id': [
    'The task of this call. Its record has the image, also when this answer is lost.',
    idForms.task_id.pattern.source,
  ],
  'Retry-After': ['Seconds to wait before the next request.', digits],
  'RateLimit-Policy': [
    'The limit of requests of the account, and its period in seconds. Absent without one, and for a replay.',
    '^"requests";q=[0-9]+;w=(1|60|3600)$',
  ],
  RateLimit: [
    'How many requests fit now (`r`), and after how many seconds one more fits (`t`).',
    '^"requests";r=[0-9]+;t=[0-9]+$',
  ],
  'x-should-retry': [
    'Present when another request cannot help, or may repeat work that is paid for.',
    '^false$',
  ],
  'X-Credits-Held': ['Credits that this request holds until its task ends.', digits],
  'X-Credits-Charged': [
    'Credits that the task cost: 0 when it failed, less than it held when its image is smaller than asked.',
    digits,
  ],
  'X-Task-Stage': [
    'What is done for a live task: it waits for a worker, or for an upstream, is being called for, or its image is being stored.',
    '^(accepted|waiting|calling|storing)$',
  ],
  'Preference-Applied': [
    'The preference of the request that was honoured (RFC 7240), such as `wait=30`.',
  ],
  'X-Accel-Buffering': ['Tells proxies to pass each event on at once.', '^no$'],
  'WWW-Authenticate': ['How to authenticate (RFC 6750).'],
  ETag: ['Identifies the content.'],
  'Accept-Ranges': ['A part of the content can be requested with `Range`.', '^bytes$'],
  'Content-Range': ['Which part of the content this is (RFC 9110 section 14.4).'],
  'Content-Disposition': ['The name under which a browser saves the content.'],
  'Content-Security-Policy': [
    'What a browser may load and run when it shows the content as a page.',
  ],
  'Cross-Origin-Resource-Policy': [
    'Web pages of any origin may show the content.',
    '^cross-origin$',
  ],
} as const satisfies Readonly<Record<string, readonly [description: string, pattern?: string]>>

/** The name of a header that every such answer has. With a question mark, only some answers have the header. */
export type HeaderUse = keyof typeof answerHeaders | `${keyof typeof answerHeaders}?`

/** The headers of an account with a limit of requests, on the answers of every route that makes a task. */
export const rateLimitUses = ['RateLimit-Policy?', 'RateLimit?'] as const satisfies HeaderUse[]

/** The headers of every answer. */
const ofEveryAnswer: readonly HeaderUse[] = ['x-request-id', 'Cache-Control']

/** Returns the schemas of the headers of an answer, by their names. */
export function headerSchemas(uses: readonly HeaderUse[] = []): z.ZodObject {
  const named = [...ofEveryAnswer, ...uses].map((use) => [use.replace('?', ''), schemas[use]])
  return z.object(Object.fromEntries(named))
}

/** Each header once as required, and once as optional. */
const schemas: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(answerHeaders).flatMap(([name, [description, pattern = '']]) => {
    const value = pattern === '' ? z.string() : z.string().regex(new RegExp(pattern))
    return [
      [name, value.meta({ description, header: { id: name } })],
      [`${name}?`, value.optional().meta({ description, header: { id: `${name}.optional` } })],
    ]
  }),
)
