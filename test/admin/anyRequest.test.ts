import type { Arbitrary } from 'fast-check'
import { assert, asyncProperty } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adminRoutes } from '../../src/admin/operatorRoutes.ts'
import type { AdminRoute } from '../../src/admin/adminParts.ts'
import { oddObject, oddValue, pathOf, queryOf } from '../support/http/oddRequests.ts'
import { createAdminClient } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'

// Every answer is compared with the description (checkAnswers.ts), so an undescribed status or field fails the test.

const { adminUrl } = await calmService()
const client = createAdminClient(adminUrl)

const runs = 12

/** Tasks that belong to nobody, so that no test loses its own. */
function bodyOf({ body }: AdminRoute): Arbitrary<unknown> {
  const schema: unknown = body?.['application/json']
  const names = Object.keys(Object(schema).shape ?? {})
  return oddObject(names, oddValue).map((given) =>
    'filter' in given ? { ...given, filter: { account: 'nobody-has-this-name' } } : given,
  )
}

const asked = adminRoutes.filter(({ path }) => path !== '/admin/v1/ledger/verify')

describe.each(asked.map((route) => [route.method, route.path, route] as const))(
  '%s %s',
  (method, _path, route) => {
    it('answers whatever it is asked as described, and never with a 500', async () => {
      await assert(
        asyncProperty(pathOf(route), queryOf(route), bodyOf(route), async (path, query, body) => {
          const address = method === 'GET' ? `${path}?${query}` : path
          const answer = await client.send(method, address, method === 'GET' ? undefined : body)
          expect([address, body, answer.status < 500]).toEqual([address, body, true])
        }),
        { numRuns: runs },
      )
    })
  },
)
