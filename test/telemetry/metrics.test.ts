import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { classifyErrorAnswer } from '../../src/domain/upstream/classifyErrorAnswer.ts'
import type { GaugeValue } from '../../src/store/sampleState.ts'
import { createMetrics, createRecorders } from '../../src/telemetry/metrics.ts'

async function callsAtStart(): Promise<readonly string[]> {
  const registry = new Registry()
  createRecorders(registry, ['main'])
  return (await registry.metrics()).split('\n').filter((line) => line.endsWith('} 0'))
}

describe('upstream calls', () => {
  it('start at zero for the outcome of every bare HTTP status', async () => {
    const lines = await callsAtStart()
    const statuses = Array.from({ length: 399 }, (_, at) => 201 + at)
    const unseen = statuses.filter((status) => {
      const { class: outcome, reason } = classifyErrorAnswer({ status, elapsedMs: 0 })
      const labels = `{channel="main",class="${outcome}",reason="${reason}"}`
      return !lines.includes(`darkroom_upstream_calls_total${labels} 0`)
    })
    expect(unseen).toEqual([])
  })
})

it('a try of a webhook delivery is counted by its outcome, with its duration', async () => {
  const registry = new Registry()
  createRecorders(registry, []).webhookTry({ outcome: 'retry', durationMs: 300 })
  const lines = (await registry.metrics()).split('\n')
  expect(lines).toContain('darkroom_webhook_tries_total{outcome="retry"} 1')
  expect(lines).toContain('darkroom_webhook_tries_total{outcome="delivered"} 0')
  expect(lines).toContain('darkroom_webhook_try_duration_seconds_sum 0.3')
})

describe('the state of the installation', () => {
  const linesOf = async (state: () => Promise<readonly GaugeValue[]>) => {
    const pool = () => ({ total: 1, idle: 1, waiting: 0 })
    const text = await createMetrics({
      pool,
      startQueueDepth: () => 0,
      takesWrites: async () => false,
      state,
    }).expose()
    return text.split('\n').filter((line) => line.startsWith('darkroom_'))
  }

  it.each([
    ['cannot be read', () => Promise.reject(new Error('PostgreSQL is away'))],
    ['does not answer in the time that Prometheus has', () => new Promise<never>(() => {})],
  ])('is missing, and not zero, while PostgreSQL %s', async (_what, state) => {
    const lines = await linesOf(state)
    expect(lines).toContain('darkroom_state_sample_up 0')
    expect(lines).toContain('darkroom_blob_store_writable 0')
    expect(lines).toContain('darkroom_pool_connections{state="idle"} 1')
    const unknown = /^darkroom_(tasks|holds|credits|webhooks?_(failing|deliveries|oldest|first))/
    expect(lines.filter((line) => unknown.test(line))).toEqual([])
  })
})
