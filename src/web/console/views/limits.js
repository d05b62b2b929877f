import { words } from 'words'

/** @import { AccountJson } from '../../../store/accounts/accountRows.ts' */
/** @import { Field } from '../parts/fields.js' */

/**
 * Returns the limits of an account as text.
 * @param {AccountJson['limits']} limits
 */
export function limitsText(limits) {
  const { requests, live_tasks: live } = limits ?? {}
  const text = words.console.account
  const parts = [
    requests && text.requests(requests.limit, requests.period),
    live && text.live(live.limit),
  ].filter(Boolean)
  return parts.length > 0 ? parts.join(words.comma) : text.noLimits
}

/**
 * Returns the fields of a dialog for models and limits, with what an account has.
 * @param {AccountJson} [account]
 * @returns {readonly Field[]}
 */
export function limitFields(account) {
  const { requests, live_tasks: live } = account?.limits ?? {}
  const { fields, account: text } = words.console
  return [
    {
      name: 'models',
      label: fields.models,
      hint: text.modelsHint,
      value: account?.models?.join(', ') ?? '',
    },
    {
      name: 'requests',
      label: text.requestsLimit,
      hint: text.requestsHint,
      pattern: '[0-9]+/(second|minute|hour)',
      value: requests ? `${requests.limit}/${requests.period}` : '',
    },
    {
      name: 'live_tasks',
      label: text.liveLimit,
      hint: text.liveHint,
      pattern: '[0-9]*',
      value: live ? String(live.limit) : '',
    },
  ]
}

/**
 * Returns the models that the fields name. `null` means all. Without such a value it is absent.
 * @param {Readonly<Record<string, string>>} values
 */
export function modelsOf({ models }) {
  const names = models?.split(',').map((name) => name.trim())
  return models === '' ? null : names
}

/**
 * Returns the limits that the fields name. `null` means no limit. What has no value is absent.
 * @param {Readonly<Record<string, string>>} values
 */
export function limitsOf({ requests, live_tasks: live }) {
  if (requests === undefined && live === undefined) return undefined
  const [limit, period] = requests?.split('/') ?? []
  return {
    requests: requests === '' ? null : requests && { limit: Number(limit), period },
    live_tasks: live === '' ? null : live && { limit: Number(live) },
  }
}
