import { beforeAll, expect, it } from 'vitest'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'
import { insertFailedTask, useCliWorld } from './openCliWorld.ts'

const world = useCliWorld()
let webhookId: string

beforeAll(async () => {
  const { accountId } = await insertFailedTask(world)
  webhookId = await insertTestWebhook(world.pool, accountId)
  for (let n = 0; n < 3; n += 1) await insertFailedTask(world, accountId)
  for (let n = 0; n < 3; n += 1) await world.json('account', 'create', `page-${n}`)
})

it.each([
  ['task list', 'tasks', () => ['task', 'list'], 4],
  ['audit list', 'changes', () => ['audit', 'list', '--action', 'account.create'], 3],
  ['webhook deliveries', 'deliveries', () => ['webhook', 'deliveries', webhookId], 3],
])(
  'darkroom %s says on stderr that more %s follow and how to list them, also with --json, and the pages are the whole list',
  async (_name, things, command, count) => {
    const whole: unknown[] = []
    const pages: number[] = []
    const said: string[] = []
    let after: readonly string[] = []
    do {
      const args = [...command(), '--limit', '2', ...after]
      const { stdout, stderr } = await world.run(...args, '--json')
      const page: unknown[] = JSON.parse(stdout)
      whole.push(...page)
      pages.push(page.length)
      expect((await world.run(...args)).stderr).toBe(stderr)
      const [, id] = new RegExp(`^More ${things} follow: add --after (\\S+), `).exec(stderr) ?? []
      said.push(id === undefined ? stderr : 'more')
      after = id === undefined ? [] : ['--after', id]
    } while (after.length > 0)
    expect(pages).toEqual([2, count - 2])
    expect(said).toEqual(['more', ''])
    expect(whole).toEqual(await world.json(...command()))
    const wrong = await world.run(...command(), '--after', 'x')
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('--after')])
  },
)

it('a dry run says that it reached its limit', async () => {
  const many = ['task', 'retry', '--code', 'upstream_error', '--dry-run', '--limit']
  expect((await world.run(...many, '2')).stderr).toBe('--limit 2 is reached, and more may match.\n')
  expect((await world.run(...many, '5')).stderr).toBe('')
})
