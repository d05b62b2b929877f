import type { Command } from 'commander'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { parseSince, parseTopup } from '../../src/cli/parse.ts'
import { createProgram, runCli } from '../../src/cli/runCli.ts'
import { closedContext } from '../support/service/darkroomCli.ts'

async function run(...args: string[]) {
  let out = ''
  let err = ''
  const exitCode = await runCli(args, closedContext, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    isTerminal: false,
  })
  return { exitCode, out, err }
}

describe('the installation', () => {
  it('is said to a person before a command uses it, and to nobody who reads JSON', async () => {
    const sayIn = async (isTerminal: boolean, ...more: readonly string[]) => {
      let err = ''
      const parts = { ...closedContext, installation: () => 'the environment' }
      const streams = { out: () => {}, err: (text: string) => void (err += text), isTerminal }
      expect(await runCli(['account', 'list', ...more], parts, streams)).toBe(1)
      return err
    }
    expect(await sayIn(true)).toBe('Installation: the environment.\na part was opened\n')
    expect(await sayIn(false)).toBe('a part was opened\nInstallation: the environment.\n')
    const error = { message: 'a part was opened', installation: 'the environment' }
    for (const isTerminal of [true, false]) {
      expect(JSON.parse(await sayIn(isTerminal, '--json'))).toEqual({ error })
    }
  })
})

const id = `task_${'a1'.repeat(16)}`

describe('wrong usage of the CLI', () => {
  it.each([
    ['no command', []],
    ['an unknown command', ['acount']],
    ['a missing argument', ['account', 'create']],
    ['a name with a space', ['account', 'create', 'a b']],
    ['negative credits', ['account', 'create', 'a', '--credits', '-1']],
    ['a deposit of 0', ['account', 'topup', 'a', '0']],
    ['an account of no model', ['account', 'models', 'a', '']],
    ['credits beyond the limit', ['account', 'topup', 'a', '1000000000001']],
    ['an unknown model', ['account', 'create', 'a', '--models', 'familya-3-pro-image,GPT']],
    ['a key that expires at once', ['key', 'create', 'a', '--expires-days', '0']],
    ['a limit of nothing', ['account', 'limit', 'a', '--requests', '0/minute']],
    ['a limit of no tasks', ['account', 'limit', 'a', '--live-tasks', '0']],
    ['no limit at all', ['account', 'limit', 'a']],
    ['an alert below 0 credits', ['account', 'alert', 'a', '--below', '0']],
    ['no alert at all', ['account', 'alert', 'a']],
    ['a budget without a period', ['key', 'create', 'a', '--budget', '5000']],
    ['a task id of another shape', ['task', 'show', 'task_1']],
    ['a search for nothing', ['task', 'find', '']],
    ['an unknown status', ['task', 'list', '--status', 'done']],
    ['a time in words', ['task', 'list', '--since', 'yesterday']],
    ['a day that does not exist', ['task', 'list', '--since', '2026-02-30']],
    ['a day before 1970', ['task', 'list', '--since', '0000-01-01']],
    ['a number without a unit', ['task', 'list', '--since', '90']],
    ['a limit of 0', ['task', 'list', '--limit', '0']],
    ['a retry without tasks', ['task', 'retry']],
    ['a retry of one task and of many', ['task', 'retry', id, '--code', 'upstream_error']],
    ['a dry run for one task', ['task', 'retry', id, '--dry-run']],
    ['a cancel of ended tasks', ['task', 'cancel', '--status', 'failed']],
    ['a pause for no reason', ['channel', 'pause', 'a', '--reason', '']],
    ['a pause for a blank', ['channel', 'pause', 'a', '--reason', ' ']],
    ['a redelivery without deliveries', ['webhook', 'redeliver', '--dry-run']],
  ])('gives exit code 2 and a message on standard error: %s', async (_name, args) => {
    const { exitCode, out, err } = await run(...args)
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' })
    expect(err).not.toBe('')
    expect(err).not.toContain('a part was opened')
  })

  it('is reported as JSON with --json', async () => {
    for (const args of [['account', 'create'], ['task', 'show', 'task_1'], ['acount']]) {
      const { exitCode, err } = await run(...args, '--json')
      expect(exitCode).toBe(2)
      expect(JSON.parse(err)).toEqual({
        error: { message: expect.not.stringMatching(/^error:|--help/) },
      })
    }
  })

  it('is not reported for correct usage, which opens a part', async () => {
    const correct = [
      ['account', 'create', 'a.b_c@d+e-f', '--credits', '0', '--models', 'familyb-image-2-vip'],
      ['account', 'topup', 'a', '-5', '--id', 'a/b:c'],
      ['account', 'models', 'a', 'all'],
      ['key', 'create', 'a', '--expires-days', '.5'],
      ['key', 'create', 'a', '--budget', '5000/day'],
      ['key', 'budget', `key_${'a1'.repeat(8)}`, 'none'],
      ['task', 'list', '--since', '2026-01-02T03:04:05Z', '--status', 'expired'],
      ['task', 'retry', '--since', '90s', '--limit', '10000'],
      ['task', 'retry', '--account', 'a', '--dry-run'],
      ['task', 'cancel', '--account', 'a', '--status', 'queued', '--dry-run'],
      ['webhook', 'redeliver', '--webhook', `wh_${'a1'.repeat(12)}`, '--limit', '5'],
    ]
    for (const args of correct) {
      expect(await run(...args)).toEqual({ exitCode: 1, out: '', err: 'a part was opened\n' })
    }
  })
})

it.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
])('%s is %i ms ago', (text, agoMs) => {
  expect(parseSince(text)).toEqual({ agoMs })
})

it.each([
  ['2026-11-26', '2026-11-26T00:00:00.000000Z'],
  ['2026-11-26T10:00', '2026-11-26T10:00:00.000000Z'],
  ['2026-11-26 10:00:07.5', '2026-11-26T10:00:07.500000Z'],
  ['2026-11-26T10:00:00Z', '2026-11-26T10:00:00.000000Z'],
  ['2026-11-26 10:00+02:00', '2026-11-26T08:00:00.000000Z'],
])('%s is %s, wherever the machine is', (text, instant) => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(parseSince(text)).toBe(instant)
})

it('a topup with a minus takes credits back', () => {
  expect(['5', '-5'].map(parseTopup)).toEqual([5, -5])
})

describe('the output of the CLI', () => {
  const script = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

  it('that cannot be written gives exit code 1 and a message on standard error', async () => {
    const readOnly = openSync(script, 'r')
    const child = spawn(process.execPath, [script, '--help'], {
      stdio: ['ignore', readOnly, 'pipe'],
    })
    closeSync(readOnly)
    let err = ''
    child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()))
    expect(await once(child, 'close')).toEqual([1, null])
    expect(err).toMatch(/^The output could not be written: /)
  })

  it('may be closed early by its reader, with exit code 0', async () => {
    const child = spawn(process.execPath, [script, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let err = ''
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    expect(await once(child, 'close')).toEqual([0, null])
    expect(err).toBe('')
  })

  it('may also be closed early where it says what it does: the command goes on', async () => {
    const child = spawn(process.execPath, [script, 'nonsense'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stderr.destroy()
    child.stdout.resume()
    expect(await once(child, 'exit')).toEqual([2, null])
  })
})

it('shows the version of this checkout without opening a part', async () => {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const { exitCode, out, err } = await run('--version')
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: '' })
  expect(manifest).toMatchObject({ version: out.trim() })
})

describe('the help of the CLI', () => {
  function leavesOf(command: Command): readonly Command[] {
    return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
  }

  it('describes every command, with --json and examples', async () => {
    const leaves = leavesOf(createProgram(closedContext))
    expect(leaves.length).toBeGreaterThanOrEqual(16)
    for (const leaf of leaves) {
      const path = pathOf(leaf)
      const { exitCode, out } = await run(...path, '--help')
      expect(exitCode).toBe(0)
      expect(out).toContain('--json')
      expect(out).toContain(`  darkroom ${path.join(' ')}`)
      expect(leaf.description()).not.toBe('')
    }
  })

  function pathOf(command: Command): readonly string[] {
    return command.parent === null ? [] : [...pathOf(command.parent), command.name()]
  }
})
