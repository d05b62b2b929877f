import { describe, expect, it } from 'vitest'
import { operatorFile } from '../../src/schema/operatorFile.ts'

function parse(baseUrl: string) {
  const channel = { name: 'b-main', family: 'B', apiKeyEnv: 'FAMILYB_API_KEY', baseUrl }
  return operatorFile.safeParse({ channels: [channel] })
}

describe('the base address of a channel', () => {
  it.each(['http://127.0.0.1:8090/v1', 'http://127.0.0.1:8090/v1//'])('is taken: %s', (text) => {
    expect(parse(text).data?.channels[0]?.baseUrl).toBe('http://127.0.0.1:8090/v1')
  })

  it.each([
    ['no address', '/v1'],
    ['another protocol', 'ftp://host/v1'],
    ['a user', 'http://user@host/v1'],
    ['a password alone', 'http://:password@host/v1'],
    ['a query', 'http://host/v1?version=2'],
    ['a fragment', 'http://host/v1#top'],
  ])('is refused by its place in the file: %s', (_what, text) => {
    expect(parse(text).error?.issues[0]?.path).toEqual(['channels', 0, 'baseUrl'])
  })
})
