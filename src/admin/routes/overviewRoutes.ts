import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { succeed } from '../../domain/result.ts'
import { find, showOverview, showQueue } from '../../operations/overview.ts'
import { found, overview, queue } from '../../schema/operators/operatorOverview.ts'
import { anyText } from '../schemas/parameters.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

export const overviewRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/overview',
    id: 'getOverview',
    summary: 'Read how the installation is doing',
    answer: [200, 'What runs now, and the last days.', overview],
    run: async ({ operator }) => succeed(await showOverview(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/queue',
    id: 'getQueue',
    summary: 'Read who waits',
    answer: [200, 'Live tasks, by account and channel.', queue],
    run: async ({ operator }) => succeed(await showQueue(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/find',
    id: 'find',
    summary: 'Find what an id belongs to',
    description:
      'Of a task, request, Idempotency-Key, vendor’s request, account, key, webhook, delivery or channel.',
    input: z.strictObject({ id: anyText }),
    answer: [200, 'Everything with this id.', listOf(found)],
    errors: ['missing_required_parameter'],
    run: async ({ operator, input }) => succeed(await find(operator, input.id)),
  }),
]
