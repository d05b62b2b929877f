import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/stack/runCommand.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'

// Schemathesis (https://schemathesis.io) makes requests from the document, right ones and wrong ones, and
// compares the answers with it. `SCHEMATHESIS_EXAMPLES=300 npx vitest run test/openapi/schemathesis.test.ts`
// makes a longer run.

const { SCHEMATHESIS_EXAMPLES: longRun } = process.env
const examplesMax = longRun ?? '12'
const phases = longRun === undefined ? 'examples,fuzzing' : 'examples,fuzzing,stateful'
const runMsMax = 3_600_000
const { env } = process

const installed = await runCommand('schemathesis', ['--version'], { env, timeoutMs: 30_000 })
if (!installed.ok) console.warn('Schemathesis is not installed: its runs are skipped.')

const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'ignored_auth',
]

describe.skipIf(!installed.ok)('requests that Schemathesis makes', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  }, stackStartMsMax)
  afterAll(() => service.stop())

  it.each(['with', 'without'])(
    'are answered as the document says, never with a 5xx: %s an API key',
    async (which) => {
      const { secret } = await service.account()
      const key = ['--header', `Authorization: Bearer ${secret}`]
      const args = [
        'run',
        `${service.url}/openapi.json`,
        ...(which === 'with' ? key : []),
        ...['--url', service.url, '--checks', checks.join(','), '--phases', phases],
        ...['--max-examples', examplesMax, '--workers', '4', '--seed', '7', '--no-color'],
        ...['--suppress-health-check', 'all', '--request-timeout', '60', '--continue-on-failure'],
      ]
      const run = await runCommand('schemathesis', args, {
        env,
        timeoutMs: runMsMax,
        cwd: tempFolder(),
      })
      const summary = /={9,} (?:FAILURES|ERRORS|SUMMARY) [\s\S]*/.exec(run.output)?.[0]
      if (longRun !== undefined) console.log(summary)
      expect(run.ok, summary).toBe(true)
    },
    runMsMax,
  )
})
