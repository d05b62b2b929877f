import type { Arbitrary } from 'fast-check'
import { assert, asyncProperty, constantFrom, oneof, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import { routes } from '../../src/http/routes.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse, shortErrorResponse } from '../support/clients/responses.ts'
import {
  oddObject,
  oddQuery,
  oddText,
  oddValue,
  pathOf,
  queryOf,
} from '../support/http/oddRequests.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'

// Every answer is compared with the description (checkAnswers.ts), so an undescribed status or field fails the test.

const service = await calmService()
const runs = 16

/** A valid body of a route. With it an odd field is met by the code behind the first refusal. */
const valid: Readonly<Record<string, object>> = {
  '/v1/images/tasks': generateBody(),
  '/v1/estimate': generateBody(),
  '/v1/images/generations': { model: 'familyb-image-2-vip', prompt: 'any', stream: true },
  '/v1/images/edits': { model: 'familyb-image-2-vip', prompt: 'any', stream: 'true' },
  '/v1/webhooks': { url: 'https://hooks.example/any' },
}
const contents = { contents: [{ role: 'user', parts: [{ text: 'any' }] }] }

/** Odd fields alone, one odd field in a valid body, and more odd fields beside a valid one. */
function fieldsOf({ path, body = {} }: Route): Arbitrary<object> {
  const [schema] = Object.values(body)
  const whole = valid[path] ?? contents
  return tuple(
    oddObject(Object.keys(Object(schema).shape ?? {}), oddValue),
    constantFrom('odd', 'one', 'beside'),
  ).map(([odd, form]) => {
    switch (form) {
      case 'odd':
        return odd
      case 'one':
        return { ...whole, ...Object.fromEntries(Object.entries(odd).slice(0, 1)) }
      case 'beside':
        return { ...odd, ...whole }
      default:
        return form satisfies never
    }
  })
}

/** The body as a form, with a source image. */
function formOf(fields: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  form.append('image', new Blob([redPixelPng], { type: 'image/png' }), 'a.png')
  return form
}

function requestOf(route: Route, fields: object, secret: string): RequestInit {
  const headers = { authorization: `Bearer ${secret}` }
  const { method, body } = route
  if (body === undefined) return { method, headers }
  if ('multipart/form-data' in body) return { method, headers, body: formOf(fields) }
  const type = { ...headers, 'content-type': 'application/json' }
  return { method, headers: type, body: JSON.stringify(fields) }
}

async function check(url: string, init?: RequestInit): Promise<void> {
  const answer = await fetch(url, init)
  const text = await answer.text()
  expect([url, init?.body, answer.status < 500]).toEqual([url, init?.body, true])
  if (answer.status < 400) return
  const error: unknown = JSON.parse(text)
  const isError = [errorResponse, shortErrorResponse].some((each) => each.safeParse(error).success)
  expect([url, text, isError]).toEqual([url, text, true])
}

/** An account with one ended task. */
async function withTask() {
  const { secret } = await service.account()
  const client = createClient(service.url, secret)
  const { task_id } = await client.accepted(generateBody())
  const { output } = await client.ended(task_id)
  return { secret, task_id, address: output?.assets[0]?.url ?? '' }
}

const asked = routes.map((route) => [route.method, route.path, route] as const)

describe.concurrent.each(asked)('%s %s', (_method, _path, route) => {
  it('answers any request as described, and never with a 500', async () => {
    const { secret, task_id } = await withTask()
    const known = { task_id, model: 'familya-3-pro-image' }
    await assert(
      asyncProperty(pathOf(route, known), queryOf(route), fieldsOf(route), (path, query, fields) =>
        check(`${service.url}${path}?${query}`, requestOf(route, fields, secret)),
      ),
      { numRuns: runs },
    )
  })
})

it('a variant is answered whatever is asked of it, and never with a 500', async () => {
  const { address } = await withTask()
  const value = oneof(oddText, constantFrom('128', '256', '1024', 'png', 'jpeg', 'webp', 'true'))
  await assert(
    asyncProperty(oddQuery(['width', 'format', 'original'], value), (query) =>
      check(`${address}&${query}`),
    ),
    { numRuns: 60 },
  )
})
