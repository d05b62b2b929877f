import type { Pool } from 'pg'
import { Client } from 'pg'
import { vi } from 'vitest'
import { z } from 'zod'
import { queryWithOwnPlan } from '../../../src/store/connection/ownPlan.ts'

const sentStatement = z.object({ text: z.string(), values: z.array(z.unknown()) })

type Plan = {
  readonly Plan: {
    readonly 'Shared Hit Blocks': number
    readonly 'Shared Read Blocks': number
  }
}

/**
 * Runs a read that sends one statement with `queryWithOwnPlan`, and returns how many blocks PostgreSQL reads for this
 * statement with a plan for its values. Throws when the statement was sent in another way.
 */
export async function blocksRead(pool: Pool, read: () => Promise<unknown>): Promise<number> {
  const sent = vi.spyOn(Client.prototype, 'query')
  await read()
  const [, settings, statement] = sent.mock.calls.map(([first]): unknown => first)
  sent.mockRestore()
  if (typeof settings !== 'string' || !settings.includes('force_custom_plan')) {
    throw new Error('the statement has no plan of its own')
  }
  const { text, values } = sentStatement.parse(statement)
  const { rows } = await queryWithOwnPlan<{ 'QUERY PLAN': readonly Plan[] }>(pool, {
    text: `explain (analyze, buffers, format json) ${text}`,
    values,
  })
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error('no plan')
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}
