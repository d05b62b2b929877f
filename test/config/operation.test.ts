import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readOperation } from '../../src/config/operation.ts'
import { tempFolder } from '../support/tempFolder.ts'

function withCredential(credential: string) {
  const path = join(tempFolder(), 'operator.json')
  const channel = { name: 'b', family: 'B', baseUrl: 'http://127.0.0.1', apiKeyEnv: 'B_KEY' }
  writeFileSync(path, JSON.stringify({ channels: [channel] }))
  return readOperation(path, { withKeys: true }, { B_KEY: credential })
}

describe("a channel's credential", () => {
  it('comes from the variable that the file names', () => {
    expect(withCredential('secret-b').channels[0]?.apiKey).toBe('secret-b')
  })

  it.each([
    ['empty', ''],
    ['of two lines', 'secret\nb'],
    ['beyond ASCII', 'sécret'],
  ])('is refused at the start, by the name of its variable, when it is %s', (_what, credential) => {
    expect(() => withCredential(credential)).toThrow(/B_KEY/)
    expect(() => withCredential(credential)).not.toThrow(/cret/)
  })
})
