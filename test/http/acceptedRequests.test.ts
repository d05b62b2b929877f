import sharp from 'sharp'
import { expect, it } from 'vitest'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { useTestApi } from '../support/http/testApi.ts'
import { redPixelPng } from '../support/images.ts'

const api = useTestApi()
const submit = (body: object) => api.postJson('/v1/images/tasks', body)

/** Not imported from the source: a value that the source loses must fail here. */
const allowed: Readonly<Record<string, readonly (readonly [model: string, value: unknown])[]>> = {
  size: [
    ...['1K', '2K', '4K'].map((size) => ['familya-3.1-flash-image', size] as const),
    ...['1024x1024', '2048x2048', '3840x2160'].map(
      (size) => ['familyb-image-2-web', size] as const,
    ),
  ],
  aspect_ratio: '1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9'
    .split(' ')
    .map((ratio) => ['familya-3.1-flash-image', ratio]),
  quality: ['low', 'medium', 'high', 'auto'].map((quality) => ['familyb-image-2-vip', quality]),
  n: [['familyb-image-2-vip', 1]],
}

it.each(Object.keys(allowed))(
  'a submit may have every value that the contract lists: %s [task-6, task-8, task-9]',
  async (field) => {
    for (const [model, value] of allowed[field] ?? []) {
      const answer = await submit(generateBody({ model, [field]: value }))
      expect([value, answer.status]).toEqual([value, 202])
    }
  },
)

it('an edit may have up to 16 PNG, JPEG and WebP images, with both families [task-4, image-2]', async () => {
  const image = sharp(redPixelPng)
  const three = [
    inputImage(redPixelPng, 'image/png'),
    inputImage(await image.clone().jpeg().toBuffer(), 'image/jpeg'),
    inputImage(await image.clone().webp().toBuffer(), 'image/webp'),
  ]
  const sixteen = Array.from({ length: 16 }, (_, n) => three[n % 3])
  for (const model of ['familya-2.5-flash-image', 'familyb-image-2-web']) {
    for (const input_images of [three, sixteen]) {
      const answer = await submit(editBody({ model, input_images }))
      expect(answer.status).toBe(202)
    }
  }
})

it('family A has no limit of requests per minute [limit-2]', async () => {
  const body = generateBody({ model: 'familya-3-pro-image' })
  const answers = await Promise.all(Array.from({ length: 100 }, () => submit(body)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
})

it('a queued task has the same record on both paths, which says when to ask again [lookup-1, lookup-4]', async () => {
  const { task_id } = Object(await (await submit(generateBody())).json())
  const answers = await Promise.all(
    ['task', 'tasks'].map(async (segment) => {
      const answer = await api.send(`/v1/${segment}/${task_id}`)
      const { 'x-request-id': _id, date: _date, ...headers } = Object.fromEntries(answer.headers)
      return { status: answer.status, headers, body: await answer.text() }
    }),
  )
  const [one, other] = answers
  expect(one).toEqual(other)
  expect(one?.status).toBe(200)
  expect(JSON.parse(one?.body ?? '')).toEqual({
    task_id,
    model: 'familyb-image-2-vip',
    status: 'queued',
    created_at: expect.stringMatching(/Z$/),
    progress: 0,
  })
  expect(one?.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'retry-after': '3',
  })
})
