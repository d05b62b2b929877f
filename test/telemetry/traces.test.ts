import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

describe('a process without a collector', () => {
  it('does not load the tracing libraries', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ resolve: (name, context, next) => {
        const found = next(name, context)
        loaded.push(found.url)
        return found
      } })
      const { openTracing } = await import('./src/wiring/processTelemetry.ts')
      await import('./src/wiring/api.ts')
      await import('./src/wiring/worker.ts')
      const ofTraces = () => loaded.filter((url) => /@opentelemetry.(sdk|exporter)/.test(url)).length
      await openTracing({ otlpEndpoint: undefined }, 'worker')
      const off = ofTraces()
      await openTracing({ otlpEndpoint: 'http://127.0.0.1:9' }, 'worker')
      console.log(JSON.stringify({ off, on: ofTraces() > 0 }))
      process.exit()`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: fileURLToPath(new URL('../../', import.meta.url)) },
    )
    expect(JSON.parse(stdout)).toEqual({ off: 0, on: true })
  })
})
