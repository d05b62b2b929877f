import { searchAttributes } from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { untilAnswered } from './untilAnswered.ts'

const timeoutMs = 5_000

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keywordType = 2

const names = Object.values(searchAttributes).map(({ name }) => name)

/**
 * Registers what is missing and waits until every frontend knows it: a start that names an unknown
 * attribute is refused (design section 5). Returns the names it added. Throws when Temporal refuses.
 */
export async function registerSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const missing = await missingSearchAttributes(temporal)
  if (missing.length === 0) return []
  const { client, namespace, within } = temporal
  await within(timeoutMs, () =>
    client.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
    }),
  )
  await untilAnswered(() =>
    within(timeoutMs, () =>
      client.workflow.count(names.map((name) => `${name} = 'none'`).join(' AND ')),
    ),
  )
  return missing
}

/** Attributes that `migrate` has still to register. Throws when Temporal cannot tell. */
export async function missingSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const { client, namespace, within } = temporal
  const { customAttributes } = await within(timeoutMs, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  )
  return names.filter((name) => Number(customAttributes[name]) !== keywordType)
}

/**
 * Whether a start would be refused for want of an attribute. Once seen they are not asked for again: a
 * later outage of Temporal is no matter of readiness. Throws while Temporal cannot tell.
 */
export function createAttributesKnown(temporal: Temporal): () => Promise<boolean> {
  let known = false
  return async () => {
    known ||= (await missingSearchAttributes(temporal)).length === 0
    return known
  }
}
