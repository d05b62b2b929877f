import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildGoTools } from '../../../../src/dev/stack/goTools.ts'
import { createPidRecord, ownIdentity } from '../../../../src/dev/stack/pidRecord.ts'
import { freePort } from '../../../../src/dev/stack/ports.ts'
import { temporalTools } from '../../../../src/dev/stack/temporal/findTemporal.ts'
import { startTemporalDevServer } from '../../../../src/dev/stack/temporal/temporalServer.ts'
import { embeddedStack, stackStartMsMax } from '../../../support/stack/embeddedStack.ts'
import { tempFolder } from '../../../support/tempFolder.ts'

/** The lines of /proc/net/tcp for sockets that listen: port and inode. */
function listeners(): readonly { readonly port: number; readonly inode: string }[] {
  return ['tcp', 'tcp6'].flatMap((file) =>
    readFileSync(`/proc/net/${file}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A')
      .map((fields) => ({
        port: Number.parseInt(fields[1]?.split(':')[1] ?? '', 16),
        inode: fields[9] ?? '',
      })),
  )
}

function socketsOf(pid: string): ReadonlySet<string> {
  const folder = `/proc/${pid}/fd`
  const inodeOf = (fd: string): string => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(folder, fd)))?.[1] ?? ''
    } catch {
      return ''
    }
  }
  try {
    return new Set(readdirSync(folder).map(inodeOf))
  } catch {
    return new Set()
  }
}

/** Every port that the process listens on which listens on `port`. */
function portsBeside(port: number): readonly number[] {
  const all = listeners()
  const inode = all.find((listener) => listener.port === port)?.inode ?? 'none'
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && socketsOf(name).has(inode))
  const sockets = socketsOf(pid ?? '')
  return [...new Set(all.filter((each) => sockets.has(each.inode)).map((each) => each.port))]
}

/** What a page that has rebound its name, or that sends a simple request, gets from Temporal's HTTP API. */
async function httpAnswers(port: number): Promise<readonly string[]> {
  const ports = portsBeside(port)
  expect(ports).toContain(port)
  const answers = await Promise.all(
    ports.map(async (each) => {
      const signal = AbortSignal.timeout(3_000)
      const url = `http://127.0.0.1:${each}/api/v1/namespaces`
      const answer = await fetch(url, { signal }).catch(() => undefined)
      return answer?.ok === true ? [`${each}: ${await answer.text()}`] : []
    }),
  )
  return answers.flat()
}

describe('the HTTP API of Temporal', () => {
  it('is not open on the real server', { timeout: stackStartMsMax }, async () => {
    const { temporalAddress } = await embeddedStack()
    expect(await httpAnswers(Number(temporalAddress.split(':')[1]))).toEqual([])
  })

  it('answers nobody on the development server', { timeout: stackStartMsMax }, async () => {
    const built = await buildGoTools(temporalTools, { env: process.env, say: () => undefined })
    if (built.kind !== 'built') throw new Error(built.why)
    const dataDir = tempFolder()
    const port = await freePort()
    const server = await startTemporalDevServer({
      dataDir,
      file: join(built.binDir, 'temporal'),
      port,
      namespace: 'default',
      uiPort: undefined,
      env: { HOME: dataDir },
      pids: createPidRecord(dataDir, ownIdentity()),
    })
    try {
      expect(await httpAnswers(port)).toEqual([])
    } finally {
      await server.stop()
    }
  })
})
