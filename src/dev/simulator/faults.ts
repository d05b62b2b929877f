import { z } from 'zod'

/**
 * What the simulator can be asked to do instead of a plain answer. One grammar serves programs
 * (`simulator.script`), prompts (`[sim:429 retry-after=3]`) and the control endpoint: README.md lists
 * every kind with its fields. Times are milliseconds, except `retryAfter` and `skew`: seconds.
 */
const secondsMax = 10 * 365 * 86_400
const delayMsMax = 3_600_000

const common = {
  /** How many calls it serves: one in a script, for ever in a prompt, unless said. */
  times: z.union([z.int().positive(), z.literal('forever')]).optional(),
  /** Wait before the answer, in ms, instead of the usual latency. */
  delay: z.number().nonnegative().max(delayMsMax).optional(),
  /** Family A: wrap an error body in a one-element array, as Vertex does. */
  array: z.boolean().optional(),
}

const retryForms = ['seconds', 'date', 'ms', 'retry-info', 'none', 'garbage'] as const
const retry = {
  retryAfter: z.number().min(-secondsMax).max(secondsMax).optional(),
  form: z.enum(retryForms).optional(),
  /** Seconds by which the answer's Date header is ahead of the true time; below zero: behind. */
  skew: z.number().min(-secondsMax).max(secondsMax).optional(),
}

function fault<Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...common, ...shape })
}

/** Answered at once with an error that blames the request, the account or the rate. */
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

/** Answered at once with an error of the vendor's own, or of a proxy before it. */
const serverFault = z.discriminatedUnion('kind', [
  fault('500', {}),
  fault('502', {}),
  fault('503', retry),
  fault('503-html', retry),
  fault('504', {}),
  fault('status', { code: z.int().min(400).max(599) }),
])

/** Answered with 200, and a body that says something else than "here is one image". */
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

/** Answered with 200, and an image that is not what it is said to be. */
const imageFault = z.discriminatedUnion('kind', [
  fault('bad-base64', {}),
  fault('wrong-mime', { as: z.enum(['jpeg', 'webp']).optional() }),
  fault('not-image', {}),
  fault('cut-image', {}),
])

/** The answer is right, its way to the client is not. */
const deliveryFault = z.discriminatedUnion('kind', [
  fault('reset', {}),
  fault('hang', {}),
  fault('html', {}),
  fault('empty', {}),
  fault('redirect', {
    status: z.union([z.literal(301), z.literal(302), z.literal(307)]).optional(),
  }),
  fault('slow', {
    chunks: z.int().min(2).max(100_000).optional(),
    interval: z.number().nonnegative().max(delayMsMax).optional(),
  }),
  fault('stall', {}),
  fault('truncated', { how: z.enum(['socket', 'json']).optional() }),
  fault('huge', { bytes: z.int().positive().max(20_000_000_000).optional() }),
])

/** Not a fault: a place in a script, a wait, or a gate that `simulator.release()` opens. */
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
  deliveryFault,
  plainFault,
] as const
const faultSchema = z.union(groups)

export type RefusalFault = z.infer<typeof refusalFault>
export type ServerFault = z.infer<typeof serverFault>
export type ErrorFault = RefusalFault | ServerFault
export type AnswerFault = z.infer<typeof answerFault>
export type ImageFault = z.infer<typeof imageFault>
export type DeliveryFault = z.infer<typeof deliveryFault>
export type Fault = z.infer<typeof faultSchema>
export type RetryForm = (typeof retryForms)[number]

/** How a fault is written: as an object, or as in a directive, `429 retry-after=3`. */
export type FaultSpec = Fault | string

const kindsOf = (group: (typeof groups)[number]): readonly string[] =>
  group.options.map((option) => option.shape.kind.value)
const serverKinds = new Set(kindsOf(serverFault))
const errorKinds = new Set([...kindsOf(refusalFault), ...serverKinds])
const answerKinds = new Set(kindsOf(answerFault))
const imageKinds = new Set(kindsOf(imageFault))
const deliveryKinds = new Set(kindsOf(deliveryFault))
export const faultKinds: readonly string[] = groups.flatMap(kindsOf)

export const isErrorFault = (f: Fault | null): f is ErrorFault =>
  f !== null && errorKinds.has(f.kind)
export const isServerFault = (f: Fault): f is ServerFault => serverKinds.has(f.kind)
export const isAnswerFault = (f: Fault | null): f is AnswerFault =>
  f !== null && answerKinds.has(f.kind)
export const isImageFault = (f: Fault | null): f is ImageFault =>
  f !== null && imageKinds.has(f.kind)
export const isDeliveryFault = (f: Fault | null): f is DeliveryFault =>
  f !== null && deliveryKinds.has(f.kind)

export type ParsedFault = { ok: true; fault: Fault } | { ok: false; message: string }

/** Checks a fault given as an object; the message of a refusal names the field. */
export function checkFault(value: unknown): ParsedFault {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : value
  const group = groups.find((candidate) => kindsOf(candidate).includes(String(kind)))
  if (group === undefined) {
    return { ok: false, message: `unknown fault "${String(kind)}", one of ${faultKinds.join(' ')}` }
  }
  const parsed = group.safeParse(value)
  if (parsed.success) return { ok: true, fault: parsed.data }
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  return { ok: false, message: `fault "${String(kind)}": ${where} ${issue?.message ?? ''}` }
}
