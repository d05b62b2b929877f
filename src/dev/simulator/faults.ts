import { z } from 'zod'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'

// A fault says how the simulator answers a call. This table says everything about a kind of fault: its fields
// with their types, limits and defaults, and the answer. The reading of faults and the text of `--help` are
// made of it.

/** The largest `retry-after`: ten years. */
const secondsMax = 10 * 365 * 86_400
const delayMsMax = 3_600_000

const text = z.string()
const seconds = z.number().nonnegative().max(secondsMax)
const milliseconds = z.number().nonnegative().max(delayMsMax)
const side = z.int().min(64).max(4096)

const commonFields = {
  /** How many calls get this fault. Default: no limit. */
  times: z.int().positive().optional(),
  /** Only calls of this model, by the name that the vendor has for it, get this fault. */
  model: text.optional(),
  /** Only for family A: puts an error body into an array of one element, as Vertex AI does. */
  array: z.boolean().optional(),
}

/** `text`: the wait stands only in the message. */
const retryForm = z.enum(['seconds', 'date', 'ms', 'retry-info', 'text', 'none', 'garbage'])

/** How long an error takes. A vendor that is full may say so after a minute. */
const after = milliseconds.optional()

/** The shape of an answer, which decides the part of the simulator that makes it. */
type Group =
  /** An error of the vendor, or the answer of a proxy in front of it. No image is made. */
  | 'error'
  /**
   * An answer of a model that does not contain exactly one image. The status is 200, in family B sometimes
   * 400.
   */
  | 'answer'
  /** Status 200 and an image, in a shape that the vendor does not document, or with more around it. */
  | 'shape'
  /** Status 200 and image data that is damaged, of another type than the declared one, or of another size. */
  | 'image'
  /** An answer that arrives at the client slowly, incompletely, without end, or not at all. */
  | 'transfer'
  | 'correct'

function fault<Kind extends string, Of extends Group, Fields extends z.ZodRawShape>(
  group: Of,
  kind: Kind,
  answer: string,
  fields: Fields,
) {
  const schema = z.strictObject({ kind: z.literal(kind), ...commonFields, ...fields })
  return { group, kind, answer, fields, schema }
}

/** The shapes in which relays were seen to send an image, and what else may stand around one. */
const shapes = [
  'raw',
  'data-url',
  'events',
  'one-event',
  'b64',
  'flat',
  'images',
  'object',
  'list',
  'thought',
  'thought-cut',
  'signed',
  'nan',
  'total',
] as const

/** Every kind of fault. `A` and `B` in an answer are the families. */
export const faultTable = [
  fault('error', '429', 'rate limit; `code` B: rate_limit_exceeded|slow_down; `details` A', {
    retryAfter: seconds.default(1),
    form: retryForm.default('seconds'),
    code: text.optional(),
    details: z.boolean().default(true),
  }),
  fault('error', 'quota', '429, quota used up; `code` A: the id of the quota', {
    code: text.optional(),
  }),
  fault('error', 'billing', 'B 400 `billing_hard_limit_reached`, A 403 billing disabled', {
    status: z.literal([400, 403, 429]).optional(),
  }),
  fault('error', '400', 'invalid request', { message: text.optional() }),
  fault('error', '401', 'invalid credential', {}),
  fault('error', 'bad-key', 'A 400 `API_KEY_INVALID`, B as 401', {}),
  fault('error', '403', 'forbidden; `country` is 400 in A; `unverified` has no code', {
    about: z
      .enum(['credential', 'project', 'country', 'unverified', 'quota', 'html'])
      .default('credential'),
  }),
  fault('error', '404', 'model not found', {}),
  fault('error', 'moderation', 'A 400, B 400 `moderation_blocked`', {
    stage: z.enum(['input', 'output']).default('input'),
  }),
  fault('error', '500', 'internal error of the vendor', { after }),
  fault('error', '502', 'HTML of a proxy', {}),
  fault('error', '503', 'A `UNAVAILABLE`, B `server_is_overloaded`', {
    retryAfter: seconds.optional(),
    form: retryForm.optional(),
    after,
  }),
  fault('error', '503-html', 'HTML of a proxy', {}),
  fault('error', '504', 'A `DEADLINE_EXCEEDED`, B HTML of a proxy', { after }),
  fault('error', 'status', "any other status, in the vendor's format; `reason` B: its code", {
    code: z.int().min(400).max(599),
    form: z.enum(['vendor', 'html']).default('vendor'),
    reason: text.optional(),
    /** Only for family B: the field that the error names. */
    param: text.optional(),
    after,
  }),
  fault('answer', 'block', 'A `promptFeedback.blockReason`, B as moderation', {
    reason: text.default('SAFETY'),
  }),
  fault('answer', 'finish', 'A this `finishReason`, B as moderation', {
    reason: text.default('IMAGE_SAFETY'),
    content: z.enum(['none', 'empty', 'text']).default('none'),
  }),
  fault('answer', 'text-only', 'A `STOP` with text only, B `data: []`', {}),
  fault('answer', 'no-image', 'A finishReason `NO_IMAGE`, B `data: []`', {}),
  fault('answer', 'zero', '`candidates: []`, `data: []`', {
    form: z.enum(['empty', 'absent']).default('empty'),
  }),
  fault('answer', 'two', 'two images, or `count`', { count: z.int().min(2).max(9).default(2) }),
  fault('answer', 'url', 'the image as a URL; requests for it are counted as stray', {}),
  fault('shape', 'shape', `the image \`as\` ${shapes.join('|')}`, {
    as: z.enum(shapes),
    /** `events`: what follows the partial image. */
    end: z.enum(['completed', 'error', 'nothing', 'cut']).default('completed'),
    /** `signed`: how many bytes of text stand beside the image. */
    bytes: z.int().positive().max(64_000_000).default(5_000_000),
  }),
  fault('error', 'in-200', 'an error of B with the status 200', {
    code: text.default('moderation_blocked'),
  }),
  fault('correct', 'request-id', 'the id of the call in another header, or in none', {
    header: text.default('none'),
  }),
  fault('image', 'bad-base64', 'image data that is not base64', {}),
  fault('image', 'wrong-mime', 'an image of another type than the declared one', {
    as: z.enum(['jpeg', 'webp']).default('jpeg'),
  }),
  fault('image', 'pixels', 'an image of this size, whatever was asked for', {
    width: side,
    height: side,
  }),
  fault('image', 'not-image', 'a text instead of an image', {}),
  fault('image', 'cut-image', 'the first half of an image', {}),
  fault('transfer', 'reset', 'the connection is reset after the request is read', {}),
  fault('transfer', 'hang', 'none: the connection stays open', {}),
  fault('error', 'html', '200 with HTML', {}),
  fault('error', 'empty', '200 with an empty body', {}),
  fault('error', 'redirect', 'a redirect; who follows is counted as stray', {
    status: z.literal([301, 302, 307]).default(302),
  }),
  fault('transfer', 'slow', 'a correct answer, sent slowly', {
    chunks: z.int().min(2).max(100_000).default(20),
    interval: milliseconds.default(500),
  }),
  fault('transfer', 'stall', 'headers and half of the body, then nothing', {}),
  fault('transfer', 'truncated', 'half of the body, then the socket closes or the JSON ends', {
    how: z.enum(['socket', 'json']).default('socket'),
  }),
  fault('transfer', 'huge', 'an image with so much base64, in valid JSON', {
    bytes: z.int().positive().max(20_000_000_000).default(500_000_000),
  }),
  fault('correct', 'ok', 'a correct answer', {}),
  fault('correct', 'delay', 'a correct answer after a time', { ms: milliseconds }),
  fault('correct', 'hold', 'a correct answer, when a test releases it', {}),
  fault('correct', 'limit', 'a correct answer to so many calls in a window, 429 to all others', {
    grants: z.int().nonnegative(),
    window: milliseconds,
  }),
] as const

type Row = (typeof faultTable)[number]
type FaultOf<Of extends Group> = z.infer<Extract<Row, { readonly group: Of }>['schema']>

export type RetryForm = z.infer<typeof retryForm>
export type Fault = z.infer<Row['schema']>
export type ErrorFault = FaultOf<'error'>
export type AnswerFault = FaultOf<'answer'>
export type ShapeFault = FaultOf<'shape'>
export type TransferFault = FaultOf<'transfer'>

/** Returns whether a fault gives an answer of this shape. */
export function isOf<Of extends Group>(group: Of, given: Fault | undefined): given is FaultOf<Of> {
  return faultTable.some((row) => row.kind === given?.kind && row.group === group)
}

/** Returns the fault of this kind with these fields. When a field is wrong, fails with a message that names it. */
export function checkFault(
  kind: string,
  fields: Readonly<Record<string, unknown>>,
): Result<Fault, string> {
  const row = faultTable.find((candidate) => candidate.kind === kind)
  if (row === undefined) {
    return fail(`unknown fault "${kind}", one of ${faultTable.map(({ kind }) => kind).join(' ')}`)
  }
  const parsed = row.schema.safeParse({ ...fields, kind })
  if (parsed.success) return succeed(parsed.data)
  const [issue] = parsed.error.issues
  return fail(`fault "${kind}": ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`)
}

/** Returns the table of all faults, for people: kind, answer and the names of its fields. */
export function faultHelp(): string {
  const names = (fields: object) => ['', ...Object.keys(fields)].join(' ')
  const rows = faultTable.map(({ kind, answer, fields }) => `${kind}${names(fields)}: ${answer}`)
  return [`Every fault:${names(commonFields)}`, ...rows]
    .join('\n')
    .replaceAll('retryAfter', 'retry-after')
}
