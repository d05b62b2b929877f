import { join } from 'node:path'
import { beforeAll, beforeEach } from 'vitest'
import { runCommand } from '../../../src/dev/command.ts'
import { root } from '../sourceFiles.ts'
import type { PythonTools } from './pythonTools.ts'
import { findPythonTools, pythonToolsMsMax } from './pythonTools.ts'

/** The two clients: what is written for asyncio is the other one's without `async` and `await`. */
export const clientKinds = ['AsyncDarkroom', 'Darkroom'] as const
export type ClientKind = (typeof clientKinds)[number]

const runMsMax = 80_000

/** Gives the calling file a Python. Its tests are skipped where there is none. */
export function usePython() {
  let found: PythonTools | string = ''
  const tools = (): PythonTools => {
    if (typeof found === 'string') throw new Error(found)
    return found
  }
  beforeAll(async () => {
    found = await findPythonTools()
  }, pythonToolsMsMax)
  beforeEach(({ skip }) => {
    if (typeof found === 'string') skip(found)
  })
  return {
    tools,
    run: (kind: ClientKind, lines: string, given: Given, before = '') =>
      runPython(tools(), kind, { lines, before }, given),
  }
}

type Given = Readonly<Record<string, unknown>> & { readonly url: string; readonly secret: string }

/**
 * Runs the lines of a function with `darkroom`, a client, and `given`, and returns what it returns; `before` is what it
 * calls. Pauses, which are a random part of a time that grows, are nothing in it.
 */
async function runPython(
  { python, env }: PythonTools,
  kind: ClientKind,
  { lines, before }: { readonly lines: string; readonly before: string },
  given: Given,
) {
  const indented = lines.replaceAll(/^(?=.)/gm, '    ')
  const text = `
import asyncio, base64, io, json, os, random, sys, time
import darkroom_client
from darkroom_client import AsyncDarkroom, Darkroom, DarkroomError

random.random = lambda: 0.0
given = json.loads(sys.argv[1])
fields = ("status", "code", "param", "request_id", "task_id", "idempotency_key", "message")

async def failure(call):
    try:
        await call()
    except DarkroomError as error:
        return {name: value for name in fields if (value := getattr(error, name)) is not None}

def client(url=given["url"], **options):
    return ${kind}(base_url=url, api_key=given["secret"], **options)

${before}
async def work(darkroom):
${indented}

async def main():
    async with client() as darkroom:
        print(json.dumps(await work(darkroom)))
`
  const program =
    kind === 'AsyncDarkroom'
      ? `${text}\nasyncio.run(main())`
      : `${text.replaceAll(/\b(?:async|await) /g, '')}\nmain()`
  const ran = await runCommand(python, ['-c', program, JSON.stringify(given)], {
    env: { ...process.env, ...env, PYTHONPATH: join(root, 'clients/python/src') },
    timeoutMs: runMsMax,
  })
  if (!ran.ok) throw new Error(`Python ended with ${ran.end}:\n${ran.output}`)
  return JSON.parse(ran.output.split('\n').at(-1) ?? '')
}
