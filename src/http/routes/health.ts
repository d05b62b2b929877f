import { z } from 'zod'
import manifest from '../../../package.json' with { type: 'json' }
import { sendJson } from '../answers/sendBody.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'

type HealthRoute = Route<{ readonly ready: () => Promise<boolean> }>

const shared = {
  method: 'GET',
  extension: true,
  access: 'open',
} as const satisfies Partial<HealthRoute>

/** Answers 200 as long as this process can answer, with the version that it runs. */
export const getHealthRoute: HealthRoute = {
  ...shared,
  path: '/healthz',
  id: 'getHealth',
  summary: 'Whether this process runs',
  answers: {
    200: {
      description: 'The process can answer.',
      content: json(z.object({ status: z.literal('ok'), version: z.string() })),
    },
  },
  handler: () => async (context) => {
    sendJson(context, 200, { status: 'ok', version: manifest.version })
    return undefined
  },
}

/** Answers whether a load balancer should send requests to this process. */
export const getReadinessRoute: HealthRoute = {
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
}
