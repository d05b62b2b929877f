import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { keyJson, keyTable } from './keyView.ts'
import { leaf } from './leaf.ts'
import { Refusal } from './refusal.ts'

/** `key revoke KEY_ID`: JSON of the key. Revoking again changes nothing and is done. */
export function keyRevoke(context: CliContext): Command {
  return leaf({
    usage: 'revoke <key-id>',
    description: 'refuse a key from now on; its tasks go on',
    examples: ['key revoke key_8xKQm2vT0aYc4hLd'],
  }).action(async (keyId: string) => {
    const key = await (await context.parts.accounts()).revokeKey(keyId)
    if (key === undefined) throw new Refusal(`There is no key ${JSON.stringify(keyId)}.`)
    context.show({ json: keyJson(key), text: keyTable([key]) })
  })
}
