import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { defined } from '../../domain/defined.ts'
import {
  pauseReasonDefault,
  pauseReasonForm,
  pauseReasonPattern,
} from '../../domain/upstream/channel.ts'
import * as channels from '../../operations/channels.ts'
import { channel, check } from '../../schema/operators/operatorChannels.ts'
import { anyText, namedQuery } from '../schemas/parameters.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

const ofChannel = z.strictObject({ name: anyText.meta({ description: 'The name of a channel.' }) })

export const channelRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/channels',
    id: 'listChannels',
    summary: 'List channels by name',
    input: namedQuery,
    answer: [200, 'Every channel that a worker has had.', listOf(channel)],
    run: ({ operator, input }) => channels.listChannels(operator, defined(input)),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/channels/{name}/pause',
    id: 'pauseChannel',
    summary: 'Pause a channel',
    description:
      'No call begins on it. A paused channel keeps the time and the reason of its pause.',
    params: ofChannel,
    input: z.strictObject({
      reason: z
        .string()
        .regex(pauseReasonPattern, { error: pauseReasonForm })
        .default(pauseReasonDefault)
        .meta({ description: 'For colleagues.' }),
    }),
    answer: [200, 'The channel.', channel],
    run: ({ operator, params, input }) => channels.pauseChannel(operator, { ...params, ...input }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/channels/{name}/resume',
    id: 'resumeChannel',
    summary: 'End the pause and the cooldowns of a channel',
    params: ofChannel,
    answer: [200, 'The channel.', channel],
    run: ({ operator, params }) => channels.resumeChannel(operator, params.name),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/channels/{name}/check',
    id: 'checkChannel',
    summary: 'Make one call on a channel that costs nothing',
    params: ofChannel,
    answer: [200, 'What came back.', check],
    run: ({ operator, params }) => channels.checkChannel(operator, params.name),
  }),
]
