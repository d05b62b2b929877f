import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { newTaskOwner } from '../support/database/insertEndedTasks.ts'
import { adminSecrets } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'
import { seriousProblems } from '../support/web/browser.ts'
import { useConsoleWorld } from '../support/web/consoleWorld.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

const model = 'familyb-image-2-vip'
const views = ['overview', 'queue', 'accounts', 'channels', 'webhooks', 'usage', 'audit']
const html = '<img src=x onerror="document.ran = 1">'

const service = await calmService()
const world = useConsoleWorld(service)

/** An account whose one task has failed once, and would succeed when it is retried. */
async function failedTask(name?: string) {
  const account = await service.account(1_000, name)
  const client = createClient(service.url, account.secret)
  const key = `order-${account.name}`
  const body = generateBody({ model, prompt: `${html} ${key} [sim:moderation times=1]` })
  const { task_id: taskId } = await client.accepted(body, { 'Idempotency-Key': key })
  await client.ended(taskId)
  return { account, client, key, taskId }
}

describe('the console', () => {
  it('finds a failed task by its account and by its Idempotency-Key, says why in two clicks, and retries it', async () => {
    const { account, client, key, taskId } = await failedTask()
    await world.inConsole(async ({ page, show, press, change, see, dialog }) => {
      await show('tasks')
      await page.getByLabel('Idempotency-Key').fill(key)
      await page.keyboard.press('Enter')
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
      await page.getByRole('link', { name: taskId }).waitFor()
      await expect.poll(() => page.url()).toContain(`idempotency_key=${key}`)
      await show('channels')
      // Each view must be there: what is typed into the one before is lost with it.
      await page.getByRole('heading', { name: 'Channels' }).waitFor()
      await page.getByRole('link', { name: 'Tasks', exact: true }).click()
      await page.getByRole('heading', { name: 'Tasks' }).waitFor()
      await page.getByLabel('Account').fill(account.name)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: taskId }).click()
      await page.locator('.notice').getByText('content_policy_violation').waitFor()
      await see(/Call 1 ended: rejected/)
      expect(await page.getByText(html).count()).toBe(0)
      await press('Show the request')
      await page.locator('.prompt').getByText(html).waitFor()
      expect(await page.evaluate('document.ran')).toBeUndefined()
      await press('Retry')
      await dialog.getByText(/holds \d+ credits/).waitFor()
      await press('Cancel', dialog)
      await change('Retry')
      await see('Retry of')
      const retry = /task_\w+/.exec(page.url())?.[0] ?? ''
      expect(retry).not.toBe(taskId)
      await client.ended(retry)
      await see(/\d+ credits charged/)
      await press('Show the image')
      await page.getByRole('img', { name: 'Show the image' }).waitFor()
      await page.goBack()
      await page.locator('.notice').waitFor()
      await page.getByRole('link', { name: 'List' }).click()
      await page.getByRole('link', { name: retry }).waitFor()
    })
  })

  it('says that an image is smaller than asked, and what it cost', async () => {
    const { secret } = await service.account()
    const client = createClient(service.url, secret)
    const prompt = 'console [sim:pixels width=1254 height=1250]'
    const fields = { model: 'familyb-image-2-web', size: '2048x2048', prompt }
    const { task_id: taskId } = await client.accepted(generateBody(fields))
    await client.ended(taskId)
    await world.inConsole(async ({ page, show, see }) => {
      await show(`tasks/${taskId}`)
      await see('Smaller than asked (1254x1250 for 2048x2048): 20 of 60 credits refunded')
      const facts = page.getByRole('region', { name: 'Facts' })
      expect(await facts.getByText('1254x1250').count()).toBe(1)
      expect(await facts.getByText('40', { exact: true }).count()).toBe(1)
      expect(await facts.getByText('60', { exact: true }).count()).toBe(1)
    })
  })

  it('retries those that a dry run has named, saves what is listed, and leads from task to task', async () => {
    const { account, client, taskId } = await failedTask()
    await world.inConsole(async ({ page, show, press, dialog }) => {
      await show(`tasks?account=${account.name}`)
      await press('Retry the failed')
      await dialog.getByText(taskId).waitFor()
      await dialog.getByText('This concerns 1').waitFor()
      const meanwhile = generateBody({ model, prompt: 'meanwhile [sim:moderation times=1]' })
      const { task_id: later } = await client.accepted(meanwhile)
      await client.ended(later)
      await press('Retry the failed', dialog)
      await dialog.getByText('Done: 1.').waitFor()
      await press('Close', dialog)
      await expect.poll(() => page.locator('tbody tr').count()).toBe(3)
      const newest = (await page.locator('tbody a').first().textContent())?.trim() ?? ''
      const download = page.waitForEvent('download')
      await press('Save as CSV')
      const text = await readFile(await (await download).path(), 'utf8')
      expect(
        text
          .split('\r\n')
          .slice(0, -1)
          .map((line) => line.split(',')[0]),
      ).toEqual(['task_id', newest, later, taskId, 'total'])
      await page.getByRole('link', { name: newest }).click()
      await press('Next')
      await page.locator('.heading').getByText(later).waitFor()
      await press('Previous')
      await page.locator('.heading').getByText(newest).waitFor()
    })
  })

  it('tops up once for two clicks, makes a key that works, and revokes it', async () => {
    const account = await service.account(100)
    await world.inConsole(async ({ page, show, press, change, see, dialog }) => {
      await show(`accounts/${account.name}`)
      await press('Top up')
      await dialog.getByLabel('Credits').fill('900')
      await page.evaluate(
        'document.querySelector("dialog[open] form").requestSubmit(); document.querySelector("dialog[open] form").requestSubmit()',
      )
      await see(/^1,000$/)
      await page.locator('tbody').getByText('deposit').first().waitFor()
      await change('Create a key', { Budget: '50/day' })
      const secret = (await dialog.locator('output').textContent())?.trim() ?? ''
      await press('Close', dialog)
      const status = async () =>
        (
          await fetch(`${service.url}/v1/account`, {
            headers: { Authorization: `Bearer ${secret}` },
          })
        ).status
      expect(await status()).toBe(200)
      expect(await page.getByText(secret).count()).toBe(0)
      await change('Revoke', {}, page.locator('tr', { hasText: '0 of 50/day' }))
      await see('revoked')
      expect(await status()).toBe(401)
    })
  })

  it('changes of the terms of an account only those that a person has changed', async () => {
    const account = await service.account(100)
    const changes = async () => {
      const { rows } = await service.pool.query<{ action: string; params: object }>(
        `select action, params from audit where target = $1
           and action in ('account.models', 'account.limit', 'account.alert') order by audit_id`,
        [account.name],
      )
      return rows
    }
    await world.inConsole(async ({ show, change, see }) => {
      await show(`accounts/${account.name}`)
      await change('Change', { 'Alert below': '500' })
      await see(/^500$/)
      await change('Change', { Requests: '60/minute' })
      await see(/60 requests a minute/)
      await change('Change', { 'Live tasks': '7' })
      await see(/7 live tasks/)
      await change('Change', { 'Alert below': '' })
      await expect.poll(changes).toHaveLength(4)
      await change('Change', { Models: model })
      await expect.poll(changes).toHaveLength(5)
    })
    expect(await changes()).toEqual([
      { action: 'account.alert', params: { below: 500 } },
      { action: 'account.limit', params: { requests: '60/minute' } },
      { action: 'account.limit', params: { live_tasks: 7 } },
      { action: 'account.alert', params: { below: null } },
      { action: 'account.models', params: { models: [model] } },
    ])
  })

  it('shows the view that is asked for in the moment in which the menu comes', async () => {
    await world.inConsole(async ({ page, press }) => {
      await press('Forget key')
      await page.evaluate(`
        new MutationObserver((_changes, watch) => {
          if (document.querySelector('nav.views') === null) return
          watch.disconnect()
          history.pushState(null, '', '#/channels')
          dispatchEvent(new PopStateEvent('popstate'))
        }).observe(document.body, { childList: true, subtree: true })`)
      await page.locator('#key').fill(adminSecrets.boss)
      await page.keyboard.press('Enter')
      await expect.poll(() => page.locator('main h2').innerText()).toBe('Channels')
    })
  })

  it("shows a channel that declines much, with the status and the vendor's code", async () => {
    const { taskId } = await failedTask()
    const name = `declining-${Date.now()}`
    await service.pool.query('insert into channel (name) values ($1)', [name])
    await service.pool.query(
      `insert into attempt (task_id, n, channel, model, answer_id, process_id, via, lease_until,
         closed_at, class, reason, http_status, vendor_code)
       select $1, n, $2, $3, 'none', 'none', 'direct', now(), now(), 'declined', 'forbidden', 403, 'odd_code'
       from generate_series(100, 106) n`,
      [taskId, name, model],
    )
    await world.inConsole(async ({ page, show }) => {
      await show('channels')
      const row = page.locator('tbody tr').filter({ hasText: name })
      await expect.poll(() => row.innerText()).toContain('403 odd_code')
      await show('overview')
      const line = page.locator('.attention li').filter({ hasText: name })
      await expect.poll(() => line.innerText()).toContain('7 calls in the last hour')
    })
    await service.pool.query('delete from attempt where channel = $1', [name])
    await service.pool.query('delete from channel where name = $1', [name])
  })

  it('shows a hundred channels, and says when there are more', async () => {
    // After those of the file, so that other tests find theirs in the first twenty.
    const name = `zz-${Date.now()}`
    await service.pool.query(
      `insert into channel (name) select $1 || '-' || n from generate_series(1, 100) n`,
      [name],
    )
    await world.inConsole(async ({ page, show, see }) => {
      await show('channels')
      await expect.poll(() => page.locator('tbody tr').count()).toBe(100)
      await see('There are more')
    })
    await service.pool.query(`delete from channel where name like $1 || '-%'`, [name])
  })

  it('counts usage until a day long ago', async () => {
    const { owner, insert } = await newTaskOwner(service)
    await insert({ count: 3, at: '2020-01-30T12:00:00Z' })
    await world.inConsole(async ({ page, show }) => {
      await show(`usage?account=${owner.name}&end_time=2020-01-31T00:00:00.000Z`)
      await expect.poll(() => page.locator('tbody tr').allInnerTexts()).toHaveLength(1)
    })
  })

  it('pauses a channel with a reason, and resumes it', async () => {
    const name = `console-${Date.now()}`
    await service.pool.query('insert into channel (name) values ($1)', [name])
    await world.inConsole(async ({ page, show, change }) => {
      await show('channels')
      const row = page.locator('tr', { hasText: name })
      await change('Pause', { 'Reason, for others to read': `unpaid ${html}` }, row)
      await row.getByText(`unpaid ${html}`).waitFor()
      await show('overview')
      await page.locator('.attention').getByText(`unpaid ${html}`).waitFor()
      await show('channels')
      await change('Resume', {}, row)
      await row.getByText('open').waitFor()
      await show(`audit?target=${name}`)
      await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    })
    await service.pool.query('delete from channel where name = $1', [name])
  })

  it('resumes a channel that a fault has put into a cooldown, although it is not paused', async () => {
    const name = `console-fault-${Date.now()}`
    await service.pool.query('insert into channel (name) values ($1)', [name])
    await service.pool.query(
      `insert into cooldown (channel, model, fault, until_at, max, length_ms)
       values ($1, '*', true, now() + interval '15 minutes', 1, 900000)`,
      [name],
    )
    await world.inConsole(async ({ page, show, change }) => {
      await show('channels')
      const row = page.locator('tr', { hasText: name })
      await row.getByText('cooling down').waitFor()
      await change('Resume', {}, row)
      await row.getByText('open').waitFor()
      await show(`audit?target=${name}`)
      await expect.poll(() => page.locator('tbody').getByText('channel.resume').count()).toBe(1)
    })
    await service.pool.query('delete from channel where name = $1', [name])
  })

  it('reaches the 101st key of an account, and a webhook that has a hundred newer ones', async () => {
    const account = await service.account(100)
    await service.pool.query(
      `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash, created_at)
       select 'key_' || left(md5(n || $1), 16), $1, 'sk-' || n, 'test', sha256((n || $1)::bytea), now() + n * interval '1 s'
       from generate_series(1, 100) n`,
      [account.accountId],
    )
    const { webhook_id: webhookId } = await createWebhookClient(service, account).register(
      'https://old.test/',
    )
    // Under the key of the service: a process does not start when a webhook has one that it does not know.
    await service.pool.query(
      `insert into webhook (webhook_id, account_id, url, events, status, key_id, created_at)
       select 'wh_' || left(md5(n || $1), 24), $1, 'https://new.test/', '{}', 'disabled', key_id, now() + n * interval '1 s'
       from generate_series(1, 100) n, webhook where webhook_id = $2`,
      [account.accountId, webhookId],
    )
    await world.inConsole(async ({ page, show, press, change, see }) => {
      await show(`accounts/${account.name}`)
      const keys = page.getByRole('navigation', { name: 'Keys' })
      await press('Next', keys)
      await press('Next', keys)
      const row = page.locator('tr', { hasText: account.keyId })
      await change('Revoke', {}, row)
      await row.getByText('revoked').waitFor()
      await show(`webhooks/${webhookId}`)
      await see('https://old.test/')
      await change('Disable')
      await see('disabled')
      // The dialog has a button of this name too, until it is closed.
      const buttons = page.getByRole('button', { name: 'Disable', exact: true })
      await expect.poll(() => buttons.count()).toBe(0)
    })
    await service.pool.query('delete from webhook where account_id = $1', [account.accountId])
  })

  it('shows every view to a viewer without a button that changes something, in the light and the dark, and on a phone', async () => {
    const { account, taskId } = await failedTask(html)
    const name = encodeURIComponent(account.name)
    // Not all tasks, because the audit of the page takes longer with each row.
    const all = [...views, `tasks?account=${name}`, `tasks/${taskId}`, `accounts/${name}`]
    await world.inConsole(async ({ page, show, see }) => {
      await see('viewer')
      for (const [i, view] of all.entries()) {
        await page.setViewportSize({ width: i % 2 ? 390 : 1280, height: 844 })
        await page.emulateMedia({ colorScheme: i % 2 ? 'dark' : 'light' })
        await show(view)
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect([view, wide]).toEqual([view, i % 2 ? 390 : 1280])
        expect([view, await page.locator('dialog').count()]).toEqual([view, 0])
        expect([view, await page.locator('.notice').count()]).toEqual([
          view,
          view.includes('task_') ? 1 : 0,
        ])
        expect([view, ...(await seriousProblems(page))]).toEqual([view])
      }
      expect(await page.evaluate('document.ran')).toBeUndefined()
    }, 'guest')
    // The audit of ten views takes a quarter of a minute of an idle machine.
  }, 150_000)

  it('asks again for a key that is refused at once or later, finds what an id belongs to, and forgets the key', async () => {
    const { key, taskId } = await failedTask()
    await world.inConsole(async ({ page, press }) => {
      await page.getByRole('searchbox').fill(key)
      await page.keyboard.press('Enter')
      await page.locator('.heading').getByText(taskId).waitFor()
      await page.reload()
      await page.locator('.heading').getByText(taskId).waitFor()
      await press('Forget key')
      const adminKey = page.getByLabel('Admin key')
      await adminKey.fill(adminSecrets.boss)
      await page.keyboard.press('Enter')
      const revoked = { status: 401, json: { error: { message: 'Revoked.' } } }
      await page.route('**/admin/v1/accounts*', (route) => route.fulfill(revoked))
      await page.getByRole('link', { name: 'Accounts', exact: true }).click()
      await adminKey.fill('wrong')
      await page.keyboard.press('Enter')
      await page.locator('.notice').waitFor()
      expect(await page.evaluate('sessionStorage.length')).toBe(0)
    })
  })
})
