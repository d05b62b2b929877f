import { expect, it } from 'vitest'
import { keepRunning } from '../../../src/dev/stack/keepRunning.ts'
import type { PartProcess } from '../../../src/dev/stack/partProcess.ts'

/** A part that ends only when it is killed. */
function fakePart(pid: number): PartProcess {
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  let over = false
  const kill = () => {
    over = true
    resolve('SIGKILL')
  }
  const stop = async () => kill()
  return { pid, ended, hasEnded: () => over, stop, kill }
}

it('kills the process of a start that was under way when the part was killed', async () => {
  const first = fakePart(1)
  const second = fakePart(2)
  const starting = Promise.withResolvers<void>()
  const mayStart = Promise.withResolvers<void>()
  let starts = 0
  const start = async () => {
    starts += 1
    if (starts === 1) return first
    starting.resolve()
    await mayStart.promise
    return second
  }
  const part = await keepRunning('a part', start, () => {})
  first.kill()
  await starting.promise
  part.kill()
  mayStart.resolve()
  await expect.poll(second.hasEnded).toBe(true)
  expect(starts).toBe(2)
})
