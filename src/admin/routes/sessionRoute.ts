import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import { succeed } from '../../domain/result.ts'

export const getSessionRoute = adminRoute({
  method: 'GET',
  path: '/admin/v1/session',
  id: 'getSession',
  summary: 'Read whose key this is',
  answer: [
    200,
    'The id of the key in the record of changes, and what it may do.',
    z.object({ key_id: z.string(), role: z.enum(['viewer', 'operator']) }).meta({ id: 'Session' }),
  ],
  run: async ({ caller: { keyId, role } }) => succeed({ key_id: keyId, role }),
})
