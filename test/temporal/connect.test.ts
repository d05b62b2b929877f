import { expect, it } from 'vitest'
import { setVariables } from '../../src/config/environment.ts'
import { temporalSettings } from '../../src/temporal/connect.ts'

const given = { address: 'a.b.tmprl.cloud:7233', namespace: 'a.b' }

it('an API key means TLS, and an empty one, which docker-compose.yml passes, no key', () => {
  const read = (TEMPORAL_API_KEY: string) =>
    temporalSettings(given, setVariables({ TEMPORAL_API_KEY }))
  expect(read('')).toEqual(given)
  expect(read('a-key')).toEqual({ ...given, apiKey: 'a-key', tls: true })
})
