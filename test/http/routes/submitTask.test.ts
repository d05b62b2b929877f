import { describe, expect, it, vi } from 'vitest'
import { NothingWrittenError } from '../../../src/domain/nothingWrittenError.ts'
import { editBody, generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

const path = '/v1/images/tasks'

const errorOf = async (response: Response) => errorResponse.parse(await response.json()).error

it('a submit that makes no new task discards its upload [submit-2]', async () => {
  const headers = { 'Idempotency-Key': 'replay me' }
  const first = await api.postJson(path, editBody(), headers)
  const second = await api.postJson(path, editBody(), headers)
  expect(second.headers.get('location')).toBe(first.headers.get('location'))
  const other = await api.postJson(path, editBody({ prompt: 'other' }), headers)
  expect(other.status).toBe(409)
  expect((await errorOf(other)).code).toBe('idempotency_key_reused')
  expect(api.tasks.openUploads.size).toBe(0)
  const uploads = new Set([...api.blobs.content.keys()].map((key) => key.split('/')[0]))
  expect([...uploads]).toEqual([api.tasks.accepted.at(-1)?.uploadId])
})

it('a submit records its upload before it stores an image, so that the sweep finds what a killed process leaves', async () => {
  const put = vi.spyOn(api.blobs, 'put')
  put.mockImplementation(async (...blobs) => {
    const prefixes = blobs.map(([key]) => key.split('/')[0])
    expect([...api.tasks.openUploads]).toEqual(prefixes)
    throw new Error('the process is killed here')
  })
  expect((await api.postJson(path, editBody())).status).toBe(500)
  expect(put).toHaveBeenCalledOnce()
  put.mockRestore()
})

it('a submit may name its media type in any casing, and its task keeps the id of the request', async () => {
  const headers = { 'Content-Type': 'Application/JSON; charset="UTF-8"' }
  const response = await api.postJson(path, generateBody(), headers)
  expect(api.tasks.accepted.at(-1)?.requestId).toBe(response.headers.get('x-request-id'))
})

describe('a submit during an outage', () => {
  const gone = () => Promise.reject(new Error('database is gone: secret-of-the-error'))
  const unwritten = () => Promise.reject(new NothingWrittenError(new Error('lock timeout')))
  it.each([
    ['is not to be retried without a key, which could find its task', gone, {}, 'false'],
    ['may be retried with a key', gone, { 'Idempotency-Key': 'again' }, null],
    ['may be retried when certainly nothing was written', unwritten, {}, null],
  ])('answers 500 without text of the error, and %s', async (_what, fail, headers, retry) => {
    api.tasks.beforeAccept = fail
    const response = await api.postJson(path, editBody(), headers)
    api.tasks.beforeAccept = undefined
    expect(response.status).toBe(500)
    const requestId = response.headers.get('x-request-id') ?? ''
    expect(await errorOf(response)).toEqual({
      message: `The request could not be completed. (request id: ${requestId})`,
      type: 'new_api_error',
      param: '',
      code: 'internal_error',
    })
    expect(response.headers.get('x-should-retry')).toBe(retry)
    expect(String(api.reported.at(-1))).toMatch(/database is gone|Nothing was written/)
    expect(api.tasks.openUploads.size).toBe(0)
  })
})
