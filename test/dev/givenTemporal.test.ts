import { expect, it, onTestFinished } from 'vitest'
import { readStartConfig } from '../../src/dev/variables.ts'
import { provideTemporal } from '../../src/dev/temporal.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

it("a start says that the operator's Temporal does not answer, and takes it as soon as it does", async () => {
  const way = await openCuttableWay((await embeddedStack()).temporalAddress)
  onTestFinished(() => way.close())
  way.cut(true)
  const said: string[] = []
  const provided = provideTemporal(readStartConfig({ TEMPORAL_ADDRESS: way.address }), undefined, {
    dataDir: '',
    lockFd: 0,
    say: (line) => said.push(line),
    show: () => {},
    stopping: new AbortController().signal,
    children: [],
  })
  expect(await until('the line', () => said[0])).toContain(
    `Temporal at ${way.address} (TEMPORAL_ADDRESS) failed`,
  )
  way.cut(false)
  await provided
  expect(said.at(-1)).toBe(`Temporal is ready at ${way.address}.`)
})
