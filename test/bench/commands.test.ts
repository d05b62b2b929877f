import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

it('a command of bench/ refuses an unknown name and lists those that it knows', async () => {
  const args = ['bench/chaos.ts', '--only', 'kills,nothing']
  const refused = promisify(execFile)(process.execPath, args, { cwd })
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Unknown: nothing\. There are: .*postgres.*cancels/),
  })
})
