import { z } from 'zod'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'

const shared = {
  method: 'get',
  tag: 'Service',
  extension: true,
  access: 'open',
  envelope: 'full',
} as const satisfies Partial<Operation>

export const getHealth: Operation = {
  ...shared,
  path: '/healthz',
  id: 'getHealth',
  summary: 'Whether this process runs',
  answers: {
    200: {
      description: 'The process can answer.',
      content: json(z.object({ status: z.literal('ok') }), { ok: { status: 'ok' } }),
    },
  },
  errors: [],
}

export const getReadiness: Operation = {
  ...shared,
  path: '/readyz',
  id: 'getReadiness',
  summary: 'Whether this process should get requests',
  answers: {
    200: {
      description: 'The process and the parts that it needs are ready.',
      content: json(z.object({ status: z.literal('ready') }), { ready: { status: 'ready' } }),
    },
  },
  errors: ['not_ready'],
}

export const getApiDocument: Operation = {
  ...shared,
  path: '/openapi.json',
  id: 'getApiDocument',
  summary: 'This description',
  description: 'Not found when the operator sets `PUBLIC_PAGES=off`.',
  answers: {
    200: {
      description: 'An OpenAPI 3.1 document.',
      content: json(z.looseObject({ openapi: z.string() }), {
        document: { openapi: '3.1.1', info: {}, paths: {} },
      }),
      headers: { ETag: 'always' },
    },
    304: {
      description: 'The document that the client has is the right one.',
      headers: { ETag: 'always' },
    },
  },
  request: { headers: z.object({ 'If-None-Match': z.string().optional() }) },
  errors: ['not_found'],
}
