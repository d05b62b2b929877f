import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { adminRoutes } from '../../src/admin/operatorRoutes.ts'
import { createProgram } from '../../src/cli/runCli.ts'
import { routes } from '../../src/http/routes.ts'
import { adminSecrets } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'
import { closedContext, runDarkroom } from '../support/service/darkroomCli.ts'
import { unknownIds } from '../support/unknownIds.ts'

// The one table of every place that takes an id. An id of the wrong form is wrong usage wherever it is written; one of
// the right form that nothing has is not found.

const service = await calmService()
const account = await service.account()

const wrong = ['1', 'task_1', 'wh_none', '%00', 'null', "'; drop table task --"]
const wrongFor = (id: string) => [...wrong, `${id}0`, id.slice(0, -1), id.toUpperCase(), `${id}%0A`]

/** What some routes and commands need besides an id, so that the id decides. */
const bodies: Readonly<Record<string, unknown>> = {
  setKeyBudget: { budget: null },
  redeliverMany: { status: 'failed', dry_run: true },
}

type Served = { readonly method: string; readonly path: string; readonly id: string }
type Target = { readonly url: string; readonly secret: string }

async function ask({ url, secret }: Target, { method, id }: Served, path: string) {
  const body = bodies[id]
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const { error = {} } = answer.status < 400 || text === '' ? {} : JSON.parse(text)
  return { status: answer.status, param: error.param, message: error.message }
}

/** Fills the parameters of a path, of which `name` gets `value`. */
const filled = (path: string, name = '', value = '') =>
  path.replaceAll(/\{(\w+)\}/g, (_, each: string) =>
    each === name
      ? value
      : encodeURIComponent(unknownIds[each] ?? (each === 'n' ? '1' : account.name)),
  )

const api = { url: service.url, secret: account.secret }
const admin = { url: service.adminUrl, secret: adminSecrets.boss }
const all = [
  ...routes.filter(({ access }) => access === 'account').map((route) => ({ target: api, route })),
  ...adminRoutes.map((route) => ({ target: admin, route })),
]

const inPath = all.flatMap(({ target, route }) =>
  [...route.path.matchAll(/\{(\w+_id)\}/g)].map(
    ([, name = '']) => [route.method, route.path, name, target, route] as const,
  ),
)
const inQuery = all
  .filter(({ route }) => 'after' in (route.query?.shape ?? {}))
  .map(({ target, route }) => [route.path, target, route] as const)

it('ids are taken by routes of both APIs', () => {
  expect(inPath.filter(([, , , target]) => target === api).length).toBeGreaterThan(10)
  expect(inPath.filter(([, , , target]) => target === admin).length).toBeGreaterThan(10)
  expect(inQuery.length).toBeGreaterThan(7)
})

describe('an id in a path is 400 and named when it has the wrong form, and else 404 [ext-7]', () => {
  it.each(inPath)('%s %s: %s', async (_method, path, name, target, route) => {
    for (const value of wrongFor(unknownIds[name] ?? '')) {
      const answer = await ask(target, route, filled(path, name, value))
      expect([value, answer.status]).toEqual([value, 400])
      // The short envelope of the lookups has no field for the name.
      expect(answer.param ?? name).toBe(name)
      expect(answer.message).toContain(name.replace('_', ' '))
    }
    expect((await ask(target, route, filled(path))).status).toBe(404)
  })
})

describe('an id in `after` is 400 and named, of whatever form [ext-7]', () => {
  it.each(inQuery)('%s', async (path, target, route) => {
    const needed = path === '/admin/v1/ledger' ? `account=${encodeURIComponent(account.name)}&` : ''
    for (const value of ['1.5', 'null', '%00', 'x'.repeat(400)]) {
      const answer = await ask(target, route, `${filled(path)}?${needed}after=${value}`)
      expect([value, answer.status, answer.param]).toEqual([value, 400, 'after'])
    }
  })
})

it('a signed address is one 404, whatever its id [asset-3]', async () => {
  for (const taskId of [unknownIds['task_id'], 'task_1']) {
    const path = `/v1/assets/${taskId}/image.png`
    expect((await fetch(`${service.url}${path}?exp=1&kid=k&sig=x`)).status).toBe(404)
  }
})

describe('a command that takes an id', () => {
  const names: Readonly<Record<string, string>> = {
    id: 'task_id',
    webhook: 'webhook_id',
    delivery: 'delivery_id',
    'key-id': 'key_id',
  }
  const more: Readonly<Record<string, readonly string[]>> = { 'key budget': ['none'] }

  function takers(
    command: Command,
    path: readonly string[] = [],
  ): readonly (readonly [string, string, string])[] {
    const called = path.join(' ')
    const found = [
      ...command.registeredArguments.map((argument) => [argument.name(), '']),
      ...command.options.map(({ flags, long }) => [
        /<([\w-]+)>/.exec(flags)?.[1] ?? '',
        long ?? '',
      ]),
    ].flatMap(([name = '', option = '']) => {
      // The pages of lists are tried in test/cli/pages.test.ts.
      const isOther = option === '--id' || option === '--after' || called === 'task find'
      const id = isOther ? undefined : names[name]
      return id === undefined ? [] : [[called, option, id] as const]
    })
    return [...found, ...command.commands.flatMap((each) => takers(each, [...path, each.name()]))]
  }

  const commands = takers(createProgram(closedContext))

  it('is one of these', () => {
    expect(commands.length).toBeGreaterThan(9)
  })

  it.each(commands)(
    'exits with 2 when it has the wrong form, and with 1 when nothing has it: %s %s %s',
    async (called, option, name) => {
      const run = (id: string) => {
        const args = [...called.split(' '), ...(option === '' ? [] : [option]), id]
        return runDarkroom([...args, ...(more[called] ?? [])], service.environment)
      }
      for (const id of ['1', 'x_1', `${unknownIds[name]}0`]) {
        const { exitCode, stdout, stderr } = await run(id)
        expect([id, exitCode, stdout]).toEqual([id, 2, ''])
        expect(stderr).not.toBe('')
      }
      const { exitCode, stdout } = await run(unknownIds[name] ?? '')
      expect([exitCode, stdout]).toEqual([1, ''])
    },
  )
})
