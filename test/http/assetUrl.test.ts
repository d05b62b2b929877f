import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { TaskView } from '../../src/domain/tasks/task.ts'
import { assetUrl, formParametersOf } from '../../src/http/assetUrl.ts'
import type { SigningKeys } from '../../src/http/assetUrl.ts'

describe('the signature of an asset URL', () => {
  const old = { id: 'old', secret: randomBytes(32).toString('hex') }
  const young = { id: 'young', secret: randomBytes(32).toString('hex') }
  const task: TaskView = {
    taskId: `task_${'a'.repeat(32)}`,
    accountId: 'a',
    route: 'images.tasks',
    family: 'B',
    model: 'familyb-image-2-vip',
    status: 'succeeded',
    credits: 7,
    createdAtMs: 0,
    nowMs: 0,
    completedAtMs: 0,
    expiresAtMs: 86_400_999,
    asset: { answerId: 'an1', mimeType: 'image/jpeg', bytes: 1, sha256: 'ab' },
  }
  const check = (url: string | undefined, keys: SigningKeys, name = 'image.jpg') =>
    formParametersOf(
      keys,
      { taskId: task.taskId, name },
      new URL(url ?? 'http://x').searchParams,
    ) !== undefined

  it('is always the same, and stays valid after its key is replaced [asset-4]', () => {
    const url = assetUrl(task, 'http://x', [old])
    expect(assetUrl({ ...task, nowMs: 5_000 }, 'http://x', [old])).toBe(url)
    expect(check(url, [old])).toBe(true)
    expect(check(url, [young, old])).toBe(true)
    expect(check(url, [young])).toBe(false)
  })

  it('is valid for nothing else than what it was made for', () => {
    const url = assetUrl(task, 'http://x', [old]) ?? ''
    const start = url.indexOf('?')
    const changed = [
      ...url
        .split('')
        .map((letter, at) => `${url.slice(0, at)}${letter === 'A' ? 'B' : 'A'}${url.slice(at + 1)}`)
        .slice(start + 1),
      url.replace('key=old', 'key=young'),
      `${url}&x=1`,
      `${url}&key=old`,
      url.slice(0, start),
      url.replace(/signature=.*/, 'signature='),
    ]
    expect(changed.filter((each) => check(each, [young, old]))).toEqual([])
    expect(check(url, [old], 'image.webp')).toBe(false)
  })
})
