import { expect } from 'vitest'
import { Darkroom } from '../../../clients/typescript/src/darkroom.ts'

/** What an account has bought when one image was bought once. */
export const once = { tasks: 1, charges: 1 }

/** Returns how many tasks an account has, and how many of them it paid for, once all have ended. */
export async function bought({ url, secret }: { readonly url: string; readonly secret: string }) {
  const darkroom = new Darkroom({ baseUrl: url, apiKey: secret })
  const tasks = await Array.fromAsync(darkroom.tasks.list())
  const ended = await Promise.all(tasks.map(({ task_id }) => darkroom.tasks.wait(task_id)))
  const charged = ended.map(({ credits_charged = 0 }) => credits_charged)
  const { credits } = await darkroom.account.get()
  expect(credits.spent).toBe(charged.reduce((sum, each) => sum + each, 0))
  return { tasks: tasks.length, charges: charged.filter((each) => each > 0).length }
}
