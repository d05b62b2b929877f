import { calmService } from '../service/calmService.ts'
import type { TestAccount } from '../service/testAccount.ts'
import { useOpened } from '../useOpened.ts'
import type { Behaviour, Received } from './receiver.ts'
import { startReceiver } from './receiver.ts'
import type { WebhookClient } from './webhookClient.ts'
import { createWebhookClient } from './webhookClient.ts'

/** A client of a new account, and an address of its own at the receiver. */
export type Hook = {
  readonly account: TestAccount
  readonly client: WebhookClient
  readonly url: string
  /** How the receiver answers the next requests to the address. Default 200. */
  behave: Behaviour
  /** What has arrived so far. */
  readonly received: () => readonly Received[]
  /** Waits until `count` requests have arrived, and returns them. */
  readonly waitFor: (count: number) => Promise<readonly Received[]>
}

/** Gives the calling file the calm service and a receiver of its own for the webhooks of its accounts. */
export function useWebhooks() {
  return useOpened(open, ({ receiver }) => receiver.close(), ['service', 'newHook'])
}

async function open() {
  const [service, receiver] = await Promise.all([calmService(), startReceiver()])
  const hooks = new Map<string, Hook>()
  let made = 0
  receiver.behave = (request, response, body) => {
    const behave = hooks.get(request.url ?? '')?.behave ?? 200
    if (typeof behave === 'number') response.writeHead(behave).end()
    else behave(request, response, body)
  }
  const newHook = async (): Promise<Hook> => {
    made += 1
    const path = `/hooks/${made}`
    const account = await service.account()
    const hook: Hook = {
      account,
      client: createWebhookClient({ url: service.url }, account),
      url: `${receiver.url}${path}`,
      behave: 200,
      received: () => receiver.received.filter((each) => each.path === path),
      waitFor: (count) => receiver.waitFor(count, path),
    }
    hooks.set(path, hook)
    return hook
  }
  return { service, receiver, newHook }
}
