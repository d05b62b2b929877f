import { expect, it } from 'vitest'
import { announcement } from '../../src/dev/announcement.ts'

const service = {
  apiUrl: 'http://127.0.0.1:8080',
  publicPages: true,
  temporalUiUrl: 'http://127.0.0.1:8233',
  key: 'sk_the_key',
  keyPath: '/data/demo-key',
}

it('shows how to submit a task and how to poll it', () => {
  const lines = announcement(service, true).split('\n')
  const bearer = `-H "Authorization: Bearer $(cat '/data/demo-key')"`
  expect(lines).toContain(`curl -s http://127.0.0.1:8080/v1/images/tasks ${bearer} \\`)
  expect(lines).toContain(`curl -s http://127.0.0.1:8080/v1/tasks/TASK_ID ${bearer}`)
  expect(lines).toContain('Key of account demo: sk_the_key')
  expect(lines.some((line) => line.startsWith('Open http://127.0.0.1:8080 in a browser'))).toBe(
    true,
  )
})

it('names no page when PUBLIC_PAGES is off', () => {
  const text = announcement({ ...service, publicPages: false }, true)
  expect(text).not.toContain('browser')
  expect(text).toContain('\nSubmit a task:\n')
})

it('prints no key when the output is not a terminal', () => {
  const text = announcement(service, false)
  expect(text).toContain('Key of account demo: in /data/demo-key')
  expect(text).not.toContain('sk_the_key')
})

it('shows no request when there is no demo account', () => {
  const { key: _key, ...withoutDemo } = service
  expect(announcement(withoutDemo, true)).toBe(
    '\nDarkroom is ready at http://127.0.0.1:8080\nTemporal UI:         http://127.0.0.1:8233',
  )
})
