import { expect, it } from 'vitest'
import { version } from '../../clients/typescript/src/runtime.ts'
import { textOf } from '../support/sourceFiles.ts'

it('the service and its clients say one version', () => {
  const found = (path: string, pattern: RegExp) => pattern.exec(textOf(path))?.[1]
  const said = [
    found('package.json', /"version": "(.*)"/),
    found('clients/typescript/package.json', /"version": "(.*)"/),
    version,
    found('clients/python/pyproject.toml', /^version = "(.*)"$/m),
    found('clients/python/src/darkroom_client/_core/settings.py', /^VERSION = "(.*)"$/m),
  ]
  expect(said).toEqual(Array(said.length).fill(said[0]))
  expect(version).toMatch(/^\d/)
})
