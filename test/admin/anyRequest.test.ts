import type { Arbitrary } from 'fast-check'
import {
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  double,
  integer,
  jsonValue,
  oneof,
  record,
  string,
  tuple,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adminRoutes } from '../../src/admin/operatorRoutes.ts'
import type { AdminRoute } from '../../src/admin/adminParts.ts'
import { createAdminClient } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'

// Every answer is compared with the description (checkAnswers.ts), so an undescribed status or field fails the test.

const { adminUrl } = await calmService()
const client = createAdminClient(adminUrl)

const runs = 12

const oddText = oneof(
  string({ minLength: 1, maxLength: 40, unit: 'binary' }),
  constantFrom(
    ...'0 1 -1 100 101 1e3 ٣ none null % _ =cmd() <script> ..%2f'.split(' '),
    ...'2026-02-30 2026-01-01 1767225600 99999999999999'.split(' '),
    ...'5000/day 1/fortnight account,day account,account familyb-image-2-vip'.split(' '),
    `task_${'0'.repeat(32)}`,
    `task_${'A'.repeat(32)}`,
    "'; drop table task --",
    '\0',
    'a\0b',
    '\u001B[31m',
    'x'.repeat(500),
  ),
)
const oddValue = oneof(oddText, boolean(), integer(), double(), jsonValue())

function oddObject(names: readonly string[], value: Arbitrary<unknown>) {
  return record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
}

/** Texts that a URL can carry as one part of a path. `fetch` takes `.` and `..` away. */
const pathPart = oddText.filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text))

function pathOf({ path, params = {} }: AdminRoute): Arbitrary<string> {
  const names = Object.keys(params)
  return tuple(...names.map(() => pathPart)).map((values) => {
    const encoded = values.map((value) => encodeURIComponent(value))
    return names.reduce((text, name, at) => text.replace(`{${name}}`, encoded[at] ?? ''), path)
  })
}

function queryOf({ query }: AdminRoute): Arbitrary<string> {
  const names = Object.keys(query?.shape ?? {})
  return oddObject(names, oddText).map((given) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(given)) query.set(name, String(value))
    return query.toString()
  })
}

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
