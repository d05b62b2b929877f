import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readOperatorSettings } from '../../src/config/operatorSettings.ts'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { checkChannel } from '../../src/upstream/checkChannel.ts'
import { redPixelPng } from '../support/images.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

// The files are those of examples/channels. Only the host of each address is that of the simulator.

const folder = new URL('../../examples/channels/', import.meta.url)
const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
const names = files.flatMap((text) =>
  [...text.matchAll(/"name": "(.+?)"/g)].map(([, name]) => name),
)

/** Starts a simulator, and returns the named channel of the page, leading to it. */
async function openChannel(name: string) {
  const simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
  onTestFinished(() => simulator.close())
  const world = await openUpstreamWorld()
  const folder = tempFolder()
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'first-token\n')
  const text = files.find((file) => file.includes(`"name": "${name}"`)) ?? ''
  const path = join(folder, 'operator.json')
  const local = text
    .replace('https://relay.example.com', `${simulator.url}/relay`)
    .replaceAll(/https:\/\/[^/"]+/g, simulator.url)
    .replace('/run/darkroom/vertex-token', tokenFile)
  writeFileSync(path, local)
  const [, variable = ''] = /"apiKeyEnv": "(.+?)"/.exec(text) ?? []
  const { channels } = readOperatorSettings(path, { withKeys: true }, { [variable]: 'vendor-key' })
  const [channel] = channels
  if (channel === undefined) throw new Error(`No channel ${name} in examples/channels`)
  const [model] = Object.keys(channel.models)
  if (model === undefined) throw new Error(`The channel ${name} names no model`)

  const call = async (given: Partial<Channel> = {}, action: 'generate' | 'edit' = 'generate') => {
    const inputs = action === 'edit' ? [await world.storeInput(redPixelPng, 'image/png')] : []
    return world.call(channel.baseUrl, channel.family, {
      request: { model, action, inputs },
      channel: { ...channel, ...given },
    })
  }
  return { simulator, call, channel, model, tokenFile }
}

describe('examples/channels', () => {
  it.each(names.map(String))('names a channel that generates and edits: %s', async (name) => {
    const { simulator, call, channel, model } = await openChannel(name)
    expect((await call()).class).toBe('succeeded')
    expect((await call({}, 'edit')).class).toBe('succeeded')
    const calls = simulator.calls()
    expect(calls.map(({ model: upstream }) => upstream)).toEqual([
      channel.models[model],
      channel.models[model],
    ])
  })

  it('say of Google alone that its errors are free, and give a call of high quality the time that it takes', async () => {
    const channels = await Promise.all(
      names.map(async (name) => (await openChannel(String(name))).channel),
    )
    const free = channels.filter(({ errorsAreFree }) => errorsAreFree === true)
    expect(free.map(({ name }) => name).toSorted()).toEqual(['gemini', 'vertex'])
    expect(Math.min(...channels.map(({ timeoutMs }) => timeoutMs))).toBe(600_000)
  })

  it.each(names.map(String))('names a free call that tells its credential: %s', async (name) => {
    const { simulator, channel } = await openChannel(name)
    expect(await checkChannel(channel)).toMatchObject({ result: 'accepted', httpStatus: 200 })
    const other = await checkChannel({ ...channel, apiKeyHeader: 'x-other' })
    expect(other.result).toBe('refused')
    expect(simulator.calls()).toEqual([])
  })
})

describe('a credential in a file', () => {
  it('is read again for each call', async () => {
    const { call, simulator, tokenFile } = await openChannel('vertex')
    await call()
    writeFileSync(tokenFile, 'second-token')
    await call()
    const [first, second] = simulator.calls()
    expect(first?.apiKeyDigest).not.toBe(second?.apiKeyDigest)
  })

  it.each([
    ['the file is missing', { apiKeyFile: '/nowhere/token' }],
    ['the file is empty', undefined],
  ])('is a refusal without a call when %s', async (_what, given) => {
    const { call, simulator, tokenFile } = await openChannel('vertex')
    writeFileSync(tokenFile, '\n')
    expect(await call(given)).toEqual({
      class: 'refused',
      evidence: { reason: 'credential_unreadable' },
    })
    expect(simulator.calls()).toEqual([])
  })
})
