import { describe, expect, it, vi } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi({ syncDeadlineMs: 20_000 })

const path = '/v1/images/generations'
const body = { model: 'familyb-image-2-vip', prompt: 'a lighthouse' }

/** Makes a synchronous call, does `act` to its task, and returns the answer with the id of the task. */
async function answerAfter(
  act: (taskId: string) => unknown,
  send = () => api.postJson(path, body),
) {
  const [answer, taskId] = await Promise.all([
    send(),
    api.tasks.nextId().then(async (taskId) => {
      await act(taskId)
      return taskId
    }),
  ])
  return { answer, taskId }
}

const succeed = (taskId: string) => api.tasks.succeed(taskId)
const errorOf = async (answer: Response) => errorResponse.parse(await answer.json()).error

describe('a synchronous call', () => {
  const failures = [
    ['rejected', 'content_policy_violation', false, '400 invalid_request_error moderation_blocked'],
    ['refused', 'rate_limit_exceeded', false, '429 rate_limit_error rate_limit_exceeded, after 7'],
    ['exhausted', 'rate_limit_exceeded', false, '429 rate_limit_error rate_limit_exceeded'],
    ['operator_fault', 'upstream_error', false, '500 new_api_error do_request_failed'],
    ['unknown', 'upstream_error', true, '500 new_api_error do_request_failed, not to be retried'],
    ['cancelled', 'cancelled', false, '500 new_api_error cancelled, not to be retried'],
    // A client that comes back with its key is welcome to a new try.
    ['client_left', 'cancelled', false, '500 new_api_error cancelled'],
    ['deadline', 'rate_limit_exceeded', false, '429 rate_limit_error rate_limit_exceeded'],
    [
      'deadline',
      'generation_timeout',
      true,
      '500 new_api_error generation_timeout, not to be retried',
    ],
  ] as const
  it.each(failures)('answers with the failure of its task: %s, %s', async (...row) => {
    const [cause, code, workPossible, expected] = row
    const retryAfter = cause === 'refused' ? { retryAfterMs: 6_200 } : {}
    const failure = { code, cause, workPossible, ...retryAfter }
    const { answer } = await answerAfter((taskId) => api.tasks.fail(taskId, failure))
    const { type, code: shown } = await errorOf(answer)
    const after = answer.headers.get('retry-after')
    const retry = answer.headers.get('x-should-retry')
    expect(
      [
        `${answer.status} ${type} ${shown}`,
        ...(after === null ? [] : [`after ${after}`]),
        ...(retry === 'false' ? ['not to be retried'] : []),
      ].join(', '),
    ).toBe(expected)
  })
})

it('a key whose image has expired is a 404 that asks for a new key, in the full envelope [sync-11]', async () => {
  const send = () => api.postJson(path, body, { 'Idempotency-Key': 'expired' })
  const { answer: first, taskId } = await answerAfter(succeed, send)
  expect(first.status).toBe(200)
  await first.text()
  api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
  const answer = await send()
  expect(answer.status).toBe(404)
  expect(await errorOf(answer)).toMatchObject({ param: null, code: 'result_expired' })
  expect(answer.headers.get('x-should-retry')).toBe('false')
  expect(answer.headers.get('idempotent-replayed')).toBe('true')
  expect(answer.headers.get('x-task-id')).toBe(taskId)
})

describe('an image that cannot be read before it expires', () => {
  const cut = () => {
    for (const [key, bytes] of api.blobs.content) api.blobs.content.set(key, bytes.subarray(1))
  }
  it.each<[string, (taskId: string) => unknown, why: string]>([
    ['its native response', (taskId) => api.tasks.loseNative(taskId), 'is missing'],
    ['its bytes', () => api.blobs.content.clear(), 'is missing'],
    ['one of its bytes', cut, 'another length'],
  ])('is a 500 that is not to be retried without %s', async (what, lose, why) => {
    const send = () => api.postJson(path, body, { 'Idempotency-Key': `lost ${what}` })
    const { answer: first, taskId } = await answerAfter(succeed, send)
    await first.text()
    lose(taskId)
    for (const answer of [await send(), await api.send(`/v1/tasks/${taskId}/result`)]) {
      expect(answer.status).toBe(500)
      expect(answer.headers.get('x-should-retry')).toBe('false')
      expect(await answer.json()).toMatchObject({ error: { code: 'internal_error' } })
      expect(String(api.reported.at(-1))).toMatch(why)
    }
  })

  it('is a 500 that names its task and is not to be retried when the disk fails', async () => {
    vi.spyOn(api.blobs, 'read').mockRejectedValueOnce(new Error('disk is gone'))
    const send = () => api.postJson(path, body, { 'Idempotency-Key': 'charged' })
    const { answer, taskId } = await answerAfter(succeed, send)
    expect(answer.status).toBe(500)
    expect((await errorOf(answer)).code).toBe('internal_error')
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(answer.headers.get('x-task-id')).toBe(taskId)
    expect(answer.headers.get('location')).toMatch(new RegExp(`/v1/tasks/${taskId}$`))
  })
})
