import type { Client } from './client.ts'
import { redPixelPng } from '../images.ts'
import type { FormPart } from './requestBodies.ts'
import { formBody, formType, generateBody } from './requestBodies.ts'

const vip = 'familyb-image-2-vip'
type Headers = Readonly<Record<string, string>>

/** `POST /v1/images/generations`, by the model that most tests use unless another is named. */
export function generate(
  client: Client,
  fields: Readonly<Record<string, unknown>>,
  headers: Headers = {},
): Promise<Response> {
  return postJson(client, '/v1/images/generations', { model: vip, ...fields }, headers)
}

/** Status and task of each answer; `undefined` where no answer arrived. */
export type ManyAnswers = Promise<
  readonly ({ readonly status: number; readonly taskId: string } | undefined)[]
>

/**
 * Makes calls at once, each with a number after its prompt and with a key of its own, the same in each round. Every second
 * call asks for a stream. An error that is the event of a stream counts as a 500.
 */
export function generateMany(client: Client, count: number, prompt: string): ManyAnswers {
  const one = async (n: number) => {
    const headers = { 'idempotency-key': `${prompt} ${n}` }
    const answer = await generate(
      client,
      { prompt: `${prompt} ${n}`, stream: n % 2 === 1 },
      headers,
    )
    const isError = (await answer.text()).includes('event: error')
    return { status: isError ? 500 : answer.status, taskId: taskIdOf(answer) }
  }
  return Promise.all(Array.from({ length: count }, (_, n) => one(n).catch(() => undefined)))
}

/** Makes an image for a caller who waits, and one for a task. Throws when the service is not ready or fails. */
export async function makesImages(client: Client, prompt: string): Promise<void> {
  await textOf200(await fetch(`${client.url}/readyz`))
  await textOf200(await generate(client, { prompt }))
  const { task_id: taskId } = await client.accepted(generateBody({ prompt }))
  const { status } = await client.ended(taskId)
  if (status !== 'succeeded') throw new Error(`the task ${status}`)
}

/** `POST /v1/images/edits` of one image. */
export function edit(
  client: Client,
  fields: Readonly<Record<string, string>>,
  image: Buffer = redPixelPng,
  headers: Headers = {},
): Promise<Response> {
  return fetch(`${client.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': formType, ...headers },
    body: new Uint8Array(formBody(editParts({ model: vip, ...fields }, image))),
  })
}

/** The parts of an edits form: text fields, then the image. */
export function editParts(
  fields: Readonly<Record<string, string>>,
  image: Buffer = redPixelPng,
): readonly FormPart[] {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, value }))
  return [...texts, { name: 'image', filename: 'a.png', type: 'image/png', value: image }]
}

/** Calls `generateContent` or `asyncGenerateContent` of `v1beta`. */
export function content(
  client: Client,
  method: 'generateContent' | 'asyncGenerateContent',
  body: unknown,
  model = 'familya-3-pro-image',
  headers: Headers = {},
): Promise<Response> {
  return postJson(client, `/v1beta/models/${model}:${method}`, body, headers)
}

function postJson(
  client: Client,
  path: string,
  body: unknown,
  headers: Headers = {},
): Promise<Response> {
  return fetch(`${client.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: client.authorization,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  })
}

/** Returns the native response of a succeeded task as text, with the image inline. */
export async function resultText(client: Client, taskId: string): Promise<string> {
  const answer = await fetch(`${client.url}/v1/tasks/${taskId}/result`, {
    headers: { authorization: client.authorization },
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`result of ${taskId}: ${answer.status} ${text}`)
  return text
}

/** Returns the text of the answer. Throws when its status is not 200. */
export async function textOf200(answer: Response): Promise<string> {
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  return text
}

/** Returns the `X-Task-Id` header. Throws when it is missing. */
export function taskIdOf(answer: Response): string {
  const taskId = answer.headers.get('x-task-id')
  if (taskId === null) throw new Error(`status ${answer.status} without X-Task-Id`)
  return taskId
}
