import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/child.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'

// Schemathesis (https://schemathesis.io) makes requests from the document, right ones and wrong ones, and
// compares the answers with it. `SCHEMATHESIS_EXAMPLES=300 npx vitest run test/openapi/schemathesis.test.ts`
// makes a longer run.

const { SCHEMATHESIS_EXAMPLES: longRun } = process.env
const examplesMax = longRun ?? '8'
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
  let service: CalmService
  beforeAll(async () => {
    service = await calmService()
  }, stackStartMsMax)

  it.each(['with', 'without'])(
    'are answered as the document says, never with a 5xx: %s an API key [pages-2]',
    async (which) => {
      const { secret } = await service.account()
      const options = {
        url: service.url,
        checks: checks.join(','),
        phases,
        'max-examples': examplesMax,
        workers: '4',
        seed: '7',
        'request-timeout': '60',
        'suppress-health-check': 'all',
        ...(which === 'with' ? { header: `Authorization: Bearer ${secret}` } : {}),
      }
      const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
      const args = ['run', `${service.url}/openapi.json`, ...flags, '--continue-on-failure']
      const run = await runCommand('schemathesis', args, {
        env: { ...env, NO_COLOR: '1' },
        timeoutMs: runMsMax,
        cwd: tempFolder(),
      })
      const summary = /={9,} (?:FAILURES|ERRORS|SUMMARY) [\s\S]*/.exec(run.output)?.[0]
      if (longRun !== undefined) console.log(summary)
      expect({ ok: run.ok, summary }).toEqual({ ok: true, summary: expect.any(String) })
    },
    runMsMax,
  )
})
