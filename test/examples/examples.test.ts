import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'
import { tempFolder } from '../support/tempFolder.ts'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))
const { PATH = '', HOME = '' } = process.env
const environment = { PATH, HOME }

/** How each language runs, and a command that succeeds where the language is complete. */
const languages = {
  curl: { run: ['sh'], probe: ['sh', '-c', 'jq --version && curl --fail-with-body --version'] },
  python: { run: ['python3'], probe: ['python3', '-c', 'import requests'] },
  javascript: { run: [process.execPath], probe: [process.execPath, '--version'] },
} as const

const service = await calmService()
const secret = (await service.account()).secret

describe.each(Object.entries(languages))('the examples for %s', (language, { run, probe }) => {
  let complete = false
  beforeAll(async () => {
    complete = (await start(probe, {}, '.')).ok
  })

  // At once, because most of them wait for an image.
  it.concurrent.for(readdirSync(join(folder, language)))(
    'do what they say: %s [auth-6, pages-7]',
    async (file, { onTestFinished }) => {
      if (!complete) {
        console.warn(`Skipped examples/${language}/${file}: "${probe.join(' ')}" fails here.`)
        return
      }
      const cwd = tempFolder(onTestFinished)
      const image = join(cwd, 'source.png')
      writeFileSync(image, redPixelPng)
      const more = { DARKROOM_URL: service.url, DARKROOM_API_KEY: secret, IMAGE: image }
      const ran = await start([...run, join(folder, language, file)], more, cwd)
      expect({ ok: ran.ok, output: ran.output }).toEqual({ ok: true, output: expect.any(String) })
      const images = readdirSync(cwd).filter((name) => /^(image|edited)\.png$/.test(name))
      for (const name of images) {
        expect(readFileSync(join(cwd, name)).subarray(1, 4).toString()).toBe('PNG')
      }
      const proof = ran.output.includes('.png') ? images.join() : ran.output
      expect(proof).toMatch(/\.png|was submitted once\s+another request with this key: 409/)
    },
  )
})

function start(command: readonly string[], more: Record<string, string>, cwd: string) {
  const [file = '', ...args] = command
  return runCommand(file, args, { env: { ...environment, ...more }, timeoutMs: 60_000, cwd })
}
