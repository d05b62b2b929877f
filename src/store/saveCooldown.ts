import type { PoolClient } from 'pg'
import type { Cooldown } from '../domain/cooldown.ts'

/** Writes one (channel, model) cooldown; `undefined` forgets it. Under the channel's row lock. */
export async function saveCooldown(
  client: PoolClient,
  key: { readonly channel: string; readonly model: string },
  cooldown: Cooldown | undefined,
): Promise<void> {
  if (cooldown === undefined) {
    await client.query('delete from cooldown where channel = $1 and model = $2', [
      key.channel,
      key.model,
    ])
    return
  }
  await client.query({
    name: 'save-cooldown',
    text: saveSql,
    values: [
      key.channel,
      key.model,
      cooldown.untilMs,
      cooldown.windowMs ?? null,
      cooldown.granted,
      cooldown.learned,
      cooldown.refusals,
      cooldown.slotAtMs,
      cooldown.slotMs,
    ],
  })
}

const saveSql = `
  insert into cooldown (channel, model, until_at, window_at, granted, learned, refusals,
    slot_at, slot_ms)
  values ($1, $2, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000), $5, $6, $7,
    to_timestamp($8::float8 / 1000), $9)
  on conflict (channel, model) do update set
    until_at = excluded.until_at, window_at = excluded.window_at, granted = excluded.granted,
    learned = excluded.learned, refusals = excluded.refusals,
    slot_at = excluded.slot_at, slot_ms = excluded.slot_ms`
