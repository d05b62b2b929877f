import { expect, it } from 'vitest'
import { taskFields } from '../../src/schema/taskRequest.ts'
import { textOf } from '../support/sourceFiles.ts'

const python = textOf('clients/python/src/darkroom_client/_async.py')
const tools = textOf('clients/typescript/src/mcp/createMcpServer.ts')

/** What a function or a tool says itself, and what has one value. */
const unnamed = ['action', 'input_images', 'n']

it.each([
  ['generate of Python', python, /async def generate\((.*?)\) ->/s],
  ['edit of Python', python, /async def edit\((.*?)\) ->/s],
  ['the tools of agents', tools, /const request = \{(.*?)\n\}/s],
])('%s: takes every field of a request', (_name, text, pattern) => {
  const [, given = ''] = pattern.exec(text) ?? []
  const taken = [...given.matchAll(/^ +(\w+):/gm)].map(([, name]) => name)
  const fields = Object.keys(taskFields.shape).filter((field) => !unnamed.includes(field))
  expect(taken).toEqual(expect.arrayContaining(fields))
})
