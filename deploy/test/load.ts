import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** Longer than SYNC_DEADLINE_SECONDS. */
const answerMsMax = 300_000
const model = 'familyb-image-2-vip'

/**
 * Sends `perSecond` calls each second until `stop`, synchronous and asynchronous in turn, each with a prompt of its own
 * and by a connection of its own, so that no failure is one of a connection that a proxy had closed.
 */
export function startLoad(url: string, key: string, perSecond: number) {
  const agent = new Agent({ pipelining: 0, headersTimeout: answerMsMax, bodyTimeout: answerMsMax })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const failures: string[] = []
  const calls: Promise<void>[] = []
  const prompts: string[] = []
  const name = randomUUID()
  const taskIds: string[] = []
  const stopping = new AbortController()

  async function send(isSync: boolean, prompt: string) {
    const path = isSync ? '/v1/images/generations' : '/v1/images/tasks'
    const body = JSON.stringify({ model, prompt, ...(isSync ? {} : { action: 'generate' }) })
    try {
      const answer = await request(`${url}${path}`, {
        method: 'POST',
        headers,
        body,
        dispatcher: agent,
      })
      const text = await answer.body.text()
      if (answer.statusCode !== (isSync ? 200 : 202))
        throw new Error(`${answer.statusCode} ${text.slice(0, 200)}`)
      if (!isSync) taskIds.push(String(Object(JSON.parse(text)).task_id))
    } catch (error) {
      failures.push(`${new Date().toISOString()} ${path}: ${String(error)}`)
    }
  }

  async function run() {
    const startedAtMs = performance.now()
    while (!stopping.signal.aborted) {
      const due = ((performance.now() - startedAtMs) / 1_000) * perSecond
      while (calls.length < due) {
        const prompt = `${name} ${calls.length}`
        prompts.push(prompt)
        calls.push(send(calls.length % 2 === 0, prompt))
      }
      await sleep(10)
    }
    await Promise.all(calls)
    await agent.close()
  }

  const running = run()
  return {
    /** Sends no more calls. */
    end: () => stopping.abort(),
    /** Ends the load when every call has its answer. */
    async stop() {
      stopping.abort()
      await running
      return { prompts, taskIds, failures }
    },
  }
}
