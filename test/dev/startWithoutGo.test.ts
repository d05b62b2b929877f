import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { memoryFolder } from '../support/stack/spawnStart.ts'
import { until } from '../support/timing.ts'
import { endStarts, firstStart, makesImages } from './firstStarts.ts'

const folder = mkdtempSync(join(memoryFolder, 'darkroom-without-go-'))
const ways: Awaited<ReturnType<typeof openCuttableWay>>[] = []

afterAll(async () => {
  await endStarts()
  for (const way of ways) way.close()
  rmSync(folder, { recursive: true, force: true })
})

it.concurrent(
  'a start without Go and without network makes images, and says what is missing and what that means',
  async () => {
    const missing = join(folder, 'missing')
    mkdirSync(missing)
    for (const name of ['go', 'temporal']) {
      writeFileSync(join(missing, name), '#!/bin/sh\nexit 127\n', { mode: 0o755 })
    }
    const nowhere = 'http://127.0.0.1:1'
    const { start, client } = await firstStart(join(folder, 'alone'), {
      PATH: `${missing}:${process.env['PATH']}`,
      HTTPS_PROXY: nowhere,
      https_proxy: nowhere,
    })
    await makesImages(client, 'Alone [sim:delay ms=10]')
    const line = await until('the line', () =>
      start
        .output()
        .split('\n')
        .find((each) => each.includes('works without Temporal')),
    )
    expect(line).toContain('the worker carries out all tasks itself')
    expect(line).toContain('Go is not installed')
    expect(line).toContain('Install Go 1.21 or later, or the Temporal CLI, or set TEMPORAL_ADDRESS')
  },
  stackStartMsMax,
)

it.concurrent(
  "takes the operator's Temporal as soon as it answers",
  async () => {
    const way = await openCuttableWay((await embeddedStack()).temporalAddress)
    ways.push(way)
    way.cut(true)
    const { start, client } = await firstStart(join(folder, 'given'), {
      TEMPORAL_ADDRESS: way.address,
    })
    await makesImages(client, 'Before [sim:delay ms=10]')
    expect(start.output()).toContain(`Temporal at ${way.address} (TEMPORAL_ADDRESS) failed`)
    way.cut(false)
    await until('Temporal', () => start.output().includes('Temporal is ready at') || undefined)
  },
  stackStartMsMax,
)
