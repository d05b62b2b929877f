import { isIP } from 'node:net'
import type { AddressClass } from './addressClass.ts'
import { addressClass } from './addressClass.ts'
import { webhookUrlLengthMax } from '../../domain/webhooks/webhook.ts'

/** Whether webhooks may reach private and loopback addresses, and use `http`. */
export type WebhookPrivate = 'allow' | 'refuse'

/** Returns whether webhooks may connect to an IP address. */
export function isAllowed(address: string, webhookPrivate: WebhookPrivate): boolean {
  const reached: AddressClass = addressClass(address)
  return reached === 'public' || (reached === 'private' && webhookPrivate === 'allow')
}

/**
 * Returns the host of a webhook's address, without the brackets of an IPv6 address. The URL parser has turned
 * every notation of an IPv4 address, such as `0x7f.1` and `2130706433`, into the usual one.
 */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/**
 * Returns why a text cannot be the address of a webhook, or `undefined` when nothing can be seen against it. What
 * a name resolves to is checked at every try.
 */
export function whyNotAddress(text: string, webhookPrivate: WebhookPrivate): string | undefined {
  if (text.length > webhookUrlLengthMax)
    return `it is longer than ${webhookUrlLengthMax} characters`
  // The URL parser would skip some of these characters.
  if (/[\s\p{Cc}\\]/u.test(text))
    return 'it must not contain spaces, backslashes or control characters'
  const url = URL.parse(text)
  if (url === null) return 'it is not a URL'
  if (url.protocol === 'http:' && webhookPrivate === 'refuse') return 'it must begin with https://'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https://'
  if (url.username !== '' || url.password !== '') return 'it must not contain a user or a password'
  const host = hostOf(url)
  if (isIP(host) !== 0) {
    return isAllowed(host, webhookPrivate) ? undefined : 'webhooks may not reach this address'
  }
  if (webhookPrivate === 'refuse' && /(^|\.)localhost\.?$/.test(host)) {
    return 'webhooks may not reach this address'
  }
  return undefined
}
