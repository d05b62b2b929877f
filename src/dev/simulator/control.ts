import { z } from 'zod'
import type { CallLog } from './calls.ts'
import { matcherSchema } from './calls.ts'
import type { Plan } from './plan.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

const waitMsMax = 600_000

/** Which calls are meant, and how many of them an answer waits for, at most until `timeoutMs` are over. */
const querySchema = z.strictObject({
  ...matcherSchema.shape,
  count: z.coerce.number().pipe(z.int().nonnegative()).default(0),
  timeoutMs: z.coerce.number().pipe(z.int().nonnegative().max(waitMsMax)).default(0),
})

/**
 * Answers a request that controls the simulator, for tests whose simulator runs in another process. Returns `undefined`
 * for any other request. A query that cannot be used is answered with 400 and `{error: 'the reason'}`.
 *
 *     GET  /__simulator/calls?count=2&timeoutMs=5000&prompt=cat    {calls: […]}
 *     POST /__simulator/release?prompt=cat                         {released: 1}
 */
export async function controlReply(
  method: string,
  { pathname, searchParams }: URL,
  { log, plan }: { readonly log: CallLog; readonly plan: Plan },
): Promise<Reply | undefined> {
  const asked = `${method} ${pathname}`
  const [calls, release] = ['GET /__simulator/calls', 'POST /__simulator/release']
  if (asked !== calls && asked !== release) return undefined
  const parsed = querySchema.safeParse(Object.fromEntries(searchParams))
  if (!parsed.success) return jsonReply(400, { error: z.prettifyError(parsed.error) })
  const { count, timeoutMs, ...matcher } = parsed.data
  if (asked === release) return jsonReply(200, { released: plan.release(matcher) })
  return jsonReply(200, { calls: await log.untilCalls(count, matcher, timeoutMs) })
}
