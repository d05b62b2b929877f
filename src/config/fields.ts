import { isIP } from 'node:net'
import { z } from 'zod'

// The forms that variables have. Each refusal says which values are allowed.

/** Kubernetes sets NAME_PORT to such an address, for each Service of the namespace with the name NAME. */
const isServiceLink = /^[a-z]+:\/\//
const whySet =
  '. Kubernetes sets it to an address for a Service of this name, unless the pod has `enableServiceLinks: false`'

/**
 * Reads a whole number. Accepts only digits, because zod's number coercion would read a blank text as 0, and
 * its error messages are about JavaScript.
 */
export function wholeNumber(fallback: number, min: number, max: number) {
  const isAllowed = (text: string) =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
  return z
    .string()
    .trim()
    .refine(isAllowed, {
      error: ({ input }) =>
        `must be a whole number from ${min} to ${max}${isServiceLink.test(String(input)) ? whySet : ''}`,
    })
    .transform(Number)
    .default(fallback)
}

/** Reads a port. 0 lets the system choose one. */
export function port(fallback: number) {
  return wholeNumber(fallback, 0, 65_535)
}

/** Reads `on` as true and `off` as false. */
export function onOff(fallback: 'on' | 'off') {
  return z
    .enum(['on', 'off'])
    .default(fallback)
    .transform((given) => given === 'on')
}

export const text = z.string().min(1)
export const httpUrlText = z.url({ protocol: /^https?$/ })
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ })

/** A base URL without query and fragment, because paths are appended to it. */
export const baseUrl = httpUrlText.refine(
  (url) => !/[?#]/.test(url),
  'must have no query and no fragment',
)

/** Host names or IPv4 addresses without port, separated by commas. */
export const hostNames = z
  .string()
  .transform((list) => list.split(',').map((name) => name.trim().toLowerCase()))
  .refine(
    (names) => names.every((name) => /^[0-9a-z._-]+$/.test(name)),
    'must be host names or addresses without port, separated by commas',
  )

/** IP:PORT, because Temporal's SDK takes no names here. */
export const ipAndPort = z.string().refine((address) => {
  const [, v6, v4, portText] = /^(?:\[(.+)\]|([\d.]+)):(\d{1,5})$/.exec(address) ?? []
  return isIP(v6 ?? v4 ?? '') === (v6 === undefined ? 4 : 6) && Number(portText) <= 65_535
}, 'must be IP:PORT')

const blobStoreForms = 'must be file:///absolute/directory or s3://bucket/prefix'

/** The URL of a blob store. */
export const blobStoreUrl = z
  .url({ protocol: /^(file|s3)$/, error: blobStoreForms, abort: true })
  .regex(/^(file:\/\/\/|s3:\/\/[^/?#])/i, blobStoreForms)

/** What a person calls themselves, in one line of text. */
export const personName = z
  .string()
  .trim()
  .regex(/^\P{C}{1,100}$/u, 'must be 1 to 100 characters without control characters')
