import { z } from 'zod'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'

// A fault says how the simulator answers a call: with an error, in an unusual way, or correctly (`plainFault`).
// README.md describes every kind with its fields.
// Durations are milliseconds, except `retryAfter` and `skew`, which are seconds.

/** The largest `retryAfter` and `skew`: ten years. */
const secondsMax = 10 * 365 * 86_400
const delayMsMax = 3_600_000

const common = {
  /** How many calls get this fault. Default: one if a test scripts the fault, no limit if a prompt asks for it. */
  times: z.union([z.int().positive(), z.literal('forever')]).optional(),
  /** Milliseconds before the answer. Replaces the configured latency. */
  delay: z.number().nonnegative().max(delayMsMax).optional(),
  /** Only for family A: puts an error body into an array of one element, as Vertex AI does. */
  array: z.boolean().optional(),
}

const retryForms = ['seconds', 'date', 'ms', 'retry-info', 'none', 'garbage'] as const
const retry = {
  retryAfter: z.number().min(-secondsMax).max(secondsMax).optional(),
  form: z.enum(retryForms).optional(),
  /** How many seconds the `Date` header of the answer is ahead of the true time. Negative: behind it. */
  skew: z.number().min(-secondsMax).max(secondsMax).optional(),
}

function fault<Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...common, ...shape })
}

/** Errors that say that the request, the account or the call rate is at fault. No image is made. */
const refusalFault = z.discriminatedUnion('kind', [
  fault('429', { ...retry, code: z.string().optional(), details: z.boolean().optional() }),
  fault('quota', { code: z.string().optional() }),
  fault('billing', {
    status: z.union([z.literal(400), z.literal(403), z.literal(429)]).optional(),
  }),
  fault('400', { message: z.string().optional(), param: z.string().optional() }),
  fault('401', {}),
  fault('bad-key', {}),
  fault('403', { about: z.enum(['credential', 'project', 'country', 'html']).optional() }),
  fault('404', {}),
  fault('moderation', { stage: z.enum(['input', 'output']).optional() }),
])

/** Errors of the vendor's servers, or of a proxy in front of them. No image is made. */
const serverFault = z.discriminatedUnion('kind', [
  fault('500', {}),
  fault('502', {}),
  fault('503', retry),
  fault('503-html', retry),
  fault('504', {}),
  fault('status', { code: z.int().min(400).max(599) }),
])

/**
 * Answers of a model that do not contain exactly one image. The status is 200, but family B answers `block` and
 * `finish` with 400.
 */
const answerFault = z.discriminatedUnion('kind', [
  fault('block', { reason: z.string().optional() }),
  fault('finish', {
    reason: z.string().optional(),
    content: z.enum(['none', 'empty', 'text']).optional(),
  }),
  fault('text-only', {}),
  fault('no-image', {}),
  fault('zero', { form: z.enum(['empty', 'absent']).optional() }),
  fault('two', {}),
  fault('url', {}),
])

/** Answers with status 200 and image data that is damaged, or whose type differs from the declared type. */
const imageFault = z.discriminatedUnion('kind', [
  fault('bad-base64', {}),
  fault('wrong-mime', { as: z.enum(['jpeg', 'webp']).optional() }),
  fault('not-image', {}),
  fault('cut-image', {}),
])

/** No answer, or an answer that is not from the vendor's API, such as a page of a proxy. No image is made. */
const connectionFault = z.discriminatedUnion('kind', [
  fault('reset', {}),
  fault('hang', {}),
  fault('html', {}),
  fault('empty', {}),
  fault('redirect', {
    status: z.union([z.literal(301), z.literal(302), z.literal(307)]).optional(),
  }),
])

/** A correct answer that arrives at the client slowly, incompletely or without end. */
const transferFault = z.discriminatedUnion('kind', [
  fault('slow', {
    chunks: z.int().min(2).max(100_000).optional(),
    interval: z.number().nonnegative().max(delayMsMax).optional(),
  }),
  fault('stall', {}),
  fault('truncated', { how: z.enum(['socket', 'json']).optional() }),
  fault('huge', { bytes: z.int().positive().max(20_000_000_000).optional() }),
])

/** A correct answer. It comes at once, after a time, or when `simulator.release()` is called. */
const plainFault = z.discriminatedUnion('kind', [
  fault('ok', {}),
  fault('delay', { ms: z.number().nonnegative().max(delayMsMax) }),
  fault('hold', {}),
])

const groups = [
  refusalFault,
  serverFault,
  answerFault,
  imageFault,
  connectionFault,
  transferFault,
  plainFault,
] as const
const faultSchema = z.union(groups)

export type RefusalFault = z.infer<typeof refusalFault>
export type ServerFault = z.infer<typeof serverFault>
export type ErrorFault = RefusalFault | ServerFault
export type AnswerFault = z.infer<typeof answerFault>
export type ImageFault = z.infer<typeof imageFault>
export type ConnectionFault = z.infer<typeof connectionFault>
export type TransferFault = z.infer<typeof transferFault>
export type Fault = z.infer<typeof faultSchema>
export type RetryForm = (typeof retryForms)[number]
export type ForbiddenAbout = NonNullable<Extract<Fault, { kind: '403' }>['about']>

function kindsOf(group: (typeof groups)[number]): readonly string[] {
  return group.options.map((option) => option.shape.kind.value)
}

const serverKinds = kindsOf(serverFault)
const errorKinds = [...kindsOf(refusalFault), ...serverKinds]
const answerKinds = kindsOf(answerFault)
const imageKinds = kindsOf(imageFault)
const connectionKinds = kindsOf(connectionFault)
const transferKinds = kindsOf(transferFault)

/** Every kind of fault, in the order of the groups above. */
export const faultKinds: readonly string[] = groups.flatMap(kindsOf)

/** Returns whether the fault is an error status, either of the vendor or of a proxy. */
export function isErrorFault(given: Fault | undefined): given is ErrorFault {
  return given !== undefined && errorKinds.includes(given.kind)
}

/** Returns whether the error says that the vendor's servers are at fault, not the caller. */
export function isServerFault(given: Fault): given is ServerFault {
  return serverKinds.includes(given.kind)
}

/** Returns whether the fault is an answer of a model without exactly one image (`answerFault`). */
export function isAnswerFault(given: Fault | undefined): given is AnswerFault {
  return given !== undefined && answerKinds.includes(given.kind)
}

/** Returns whether the fault damages the image data of a 200 answer, or sends another type than the declared one. */
export function isImageFault(given: Fault | undefined): given is ImageFault {
  return given !== undefined && imageKinds.includes(given.kind)
}

/** Returns whether the fault gives no answer of the vendor's API, not even an error (`connectionFault`). */
export function isConnectionFault(given: Fault | undefined): given is ConnectionFault {
  return given !== undefined && connectionKinds.includes(given.kind)
}

/** Returns whether the fault changes how a correct answer is sent. */
export function isTransferFault(given: Fault | undefined): given is TransferFault {
  return given !== undefined && transferKinds.includes(given.kind)
}

/** Checks the fields of a fault of the given kind. When one is wrong, fails with a message that names it. */
export function checkFault(
  kind: string,
  fields: Readonly<Record<string, unknown>>,
): Result<Fault, string> {
  const group = groups.find((candidate) => kindsOf(candidate).includes(kind))
  if (group === undefined) {
    return fail(`unknown fault "${kind}", one of ${faultKinds.join(' ')}`)
  }
  const parsed = group.safeParse({ ...fields, kind })
  if (parsed.success) return succeed(parsed.data)
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  return fail(`fault "${kind}": ${where} ${issue?.message ?? ''}`)
}
