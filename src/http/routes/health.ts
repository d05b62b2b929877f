import { z } from 'zod'
import { sendJson } from '../answers/sendBody.ts'
import type { DescribedRoute } from '../route.ts'
import { json } from '../route.ts'
import type { Handler } from '../context.ts'

type HealthParts = { readonly ready: () => Promise<boolean> }
type HealthRoute = DescribedRoute & { readonly handler: (parts: HealthParts) => Handler }

const shared = {
  method: 'GET',
  tag: 'Service',
  extension: true,
  access: 'open',
  envelope: 'full',
} as const satisfies Partial<HealthRoute>

/** Answers 200 as long as this process can answer. */
export const getHealthRoute = {
  ...shared,
  path: '/healthz',
  id: 'getHealth',
  summary: 'Whether this process runs',
  answers: {
    200: {
      description: 'The process can answer.',
      content: json(z.object({ status: z.literal('ok') })),
    },
  },
  errors: [],
  handler: () => async (context) => {
    sendJson(context, 200, { status: 'ok' })
    return undefined
  },
} as const satisfies HealthRoute

/** Answers whether a load balancer should send requests to this process. */
export const getReadinessRoute = {
  ...shared,
  path: '/readyz',
  id: 'getReadiness',
  summary: 'Whether this process should get requests',
  answers: {
    200: {
      description: 'The process and the parts that it needs are ready.',
      content: json(z.object({ status: z.literal('ready') })),
    },
  },
  errors: ['not_ready'],
  handler: (parts) => async (context) => {
    const ready = await parts.ready().catch(() => false)
    if (!ready) return { tag: 'not_ready' }
    sendJson(context, 200, { status: 'ready' })
    return undefined
  },
} as const satisfies HealthRoute
