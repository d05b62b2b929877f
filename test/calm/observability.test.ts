import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../support/clients/client.ts'
import { calmService } from '../support/service/calmService.ts'
import { readExposition, selectorsOf } from '../support/telemetry/prometheus.ts'
import { until } from '../support/timing.ts'

const file = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url))

const service = await calmService()
const client = createClient(service.url, (await service.account()).secret)
// The refusal holds up other tasks of this model for a second, so it is one that few tests use.
const model = 'familya-2.5-flash-image'
const prompt = 'observability [sim:429 retry-after=1 times=1]'
const body = { model, action: 'generate', prompt }
const { task_id: taskId } = await client.accepted(body)
await client.ended(taskId)
const metricsAt = async (url: string) => (await fetch(`${url}/metrics`)).text()
const api = await metricsAt(service.internalUrls[0])
// The workflow ends a moment after its task.
const sdk = await until('a completed workflow', async () => {
  const text = await metricsAt(service.sdkUrl)
  return text.includes('temporal_workflow_completed') ? text : undefined
})
const worker = await metricsAt(service.workerUrl)
const exposed = readExposition(`${api}\n${worker}\n${sdk}`)

const dashboard = z.object({
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string() })).default([]),
    }),
  ),
})

async function dashboardExpressions(): Promise<readonly string[]> {
  const { panels } = dashboard.parse(JSON.parse(await readFile(file('dashboard.json'), 'utf8')))
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
}

async function alertExpressions(): Promise<readonly string[]> {
  const rules = (await readFile(file('alerts.yml'), 'utf8')).split('- alert:').slice(1)
  return rules.map((rule) => {
    const [, expression] = /expr:(?: >-)?(.*?)\n +(?:for|labels):/s.exec(rule) ?? []
    if (expression === undefined) throw new Error(`no expression in ${rule}`)
    return expression
  })
}

/** Series that Prometheus creates itself. */
const madeByPrometheus = new Set(['up', 'ALERTS'])
/** Of the exporters that docs/operating.md names, and of the operator's backup. */
const ofOthers =
  /^(node_filesystem_(avail|size)_bytes|probe_ssl_earliest_cert_expiry|backup_last_success_timestamp_seconds)$/
const addedByScrape = new Set(['job', 'instance'])

function unknownOf(expressions: readonly string[]): readonly string[] {
  return expressions.flatMap(selectorsOf).flatMap(({ metric, labels }) => {
    if (madeByPrometheus.has(metric) || ofOthers.test(metric)) return []
    const known = exposed.get(metric)
    if (known === undefined) return [metric]
    // A metric without a value shows no labels, so only its name can be checked.
    if (known.size === 0) return []
    return labels
      .filter((label) => !known.has(label) && !addedByScrape.has(label))
      .map((label) => `${metric}{${label}}`)
  })
}

describe('the metrics in alerts and dashboard', () => {
  it.each([
    ['alert', alertExpressions, 20],
    ['panel of the dashboard', dashboardExpressions, 31],
  ] as const)('are exposed: every metric of each %s', async (_what, expressions, count) => {
    const written = await expressions()
    expect(written.length).toBeGreaterThanOrEqual(count)
    expect(unknownOf(written)).toEqual([])
  })

  it('count no probe of health as a request that went well', async () => {
    const shares = (await alertExpressions()).flatMap(
      (expression) => expression.match(/darkroom_http_requests_total\{[^}]*\}/g) ?? [],
    )
    expect(shares).toHaveLength(2)
    for (const share of shares) {
      const [, left] = /route!~"([^"]+)"/.exec(share) ?? []
      const matching = new RegExp(`^(?:${left})$`)
      expect(['/healthz', '/readyz'].every((route) => matching.test(route))).toBe(true)
    }
  })

  it('include every metric of Darkroom: none is exposed without a panel', async () => {
    const shown = new Set(
      (await dashboardExpressions()).flatMap(selectorsOf).map(({ metric }) => metric),
    )
    const ours = [...exposed.keys()].filter((name) => /^darkroom_(?!.*_(sum|count)$)/.test(name))
    expect(ours.length).toBeGreaterThan(15)
    expect(ours.filter((name) => !shown.has(name))).toEqual([])
  })

  it.each(['class="refused",reason="rate_limited"', 'class="succeeded",reason="image"'])(
    'count the upstream calls with %s',
    (outcome) => {
      const count = `darkroom_upstream_calls_total{channel="a-main",${outcome}} `
      expect(Number(worker.split(count)[1]?.split('\n')[0])).toBeGreaterThan(0)
    },
  )

  it("include metrics of Temporal's SDK, which a worker serves at TEMPORAL_METRICS_ADDRESS", () => {
    expect(sdk).toContain('temporal_worker_task_slots_available')
    expect(api).not.toContain('temporal_')
  })

  it("name Temporal's queues as the alerts do", async () => {
    const alerts = await readFile(file('alerts.yml'), 'utf8')
    const patterns = [...alerts.matchAll(/(temporal_\w+)\{[^}]*task_queue=~"([^"]+)"/g)]
    expect(patterns).toHaveLength(3)
    for (const [, metric = '', pattern = ''] of patterns) {
      expect(sdk).toMatch(new RegExp(`^${metric}\\{.*task_queue="${pattern}"`, 'm'))
    }
  })
})
