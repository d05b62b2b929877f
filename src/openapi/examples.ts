const taskId = 'task_0123456789ABCDEFGHIJKLMNOPQRSTUV'
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const url = `https://images.example/v1/assets/${taskId}/image.png?version=1&key=k1&expires=1767312000&signature=zY0x`
const created = 1_767_225_600
const createdAt = '2026-01-01T00:00:00Z'
const completedAt = '2026-01-01T00:00:41Z'
const familyB = { task_id: taskId, model: 'familyb-image-2-vip', created_at: createdAt }
const familyA = { ...familyB, model: 'familya-3-pro-image' }
const assets = [{ type: 'image', url, mime_type: 'image/png' }]

const usage = {
  input_tokens: 9,
  output_tokens: 1756,
  total_tokens: 1765,
  input_tokens_details: { text_tokens: 9, image_tokens: 0 },
  output_tokens_details: { text_tokens: 0, image_tokens: 1756 },
}
const native = { modelVersion: 'familya-3-pro-image', responseId: 'n4bQgYhMfWWaL-qgxVrQFa' }

function candidate(part: object): object {
  return { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }
}

const webhook = {
  webhook_id: 'wh_0123456789ABCDEFGHIJKLMN',
  url: 'https://example.com/hooks/darkroom',
  events: ['task.succeeded', 'task.failed'],
  status: 'active',
  created_at: '2026-01-01T00:00:00.000Z',
}
const endedAt = '2026-01-01T00:00:41.372Z'
const succeededTask = {
  ...familyB,
  status: 'succeeded',
  progress: 100,
  completed_at: completedAt,
  output: { assets },
}
const failedTask = {
  ...familyB,
  status: 'failed',
  progress: 95,
  completed_at: completedAt,
  error: {
    code: 'content_policy_violation',
    message: 'The upstream model refused this request under its content policy.',
  },
}

/** The bodies that the operations show as examples. */
export const examples = {
  generateB: {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    size: '1024x1024',
    quality: 'medium',
  },
  generateA: {
    model: 'familya-3-pro-image',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    size: '2K',
    aspect_ratio: '16:9',
  },
  edit: {
    model: 'familyb-image-2-vip',
    action: 'edit',
    prompt: 'Make the sky red',
    input_images: [{ mime_type: 'image/png', data: pixel }],
  },
  generation: { model: 'familyb-image-2-vip', prompt: 'A lighthouse at dusk', size: '1024x1024' },
  content: {
    contents: [{ role: 'user', parts: [{ text: 'A lighthouse at dusk' }] }],
    generationConfig: { imageConfig: { aspectRatio: '16:9', imageSize: '2K' } },
  },
  contentEdit: {
    contents: [
      {
        parts: [
          { text: 'Make the sky red' },
          { inlineData: { mimeType: 'image/png', data: pixel } },
        ],
      },
    ],
  },
  accepted: { task_id: taskId, status: 'queued', created_at: created },
  processing: { ...familyB, status: 'processing', progress: 42 },
  succeededB: {
    ...familyB,
    status: 'succeeded',
    progress: 100,
    completed_at: completedAt,
    output: { assets },
    result: { created, data: [{ url }], size: '1024x1024', quality: 'medium', usage },
  },
  succeededA: {
    ...familyA,
    status: 'succeeded',
    progress: 100,
    completed_at: completedAt,
    output: { assets },
    result: {
      candidates: [candidate({ fileData: { mimeType: 'image/png', fileUri: url } })],
      ...native,
    },
  },
  cancelled: {
    ...familyB,
    status: 'failed',
    progress: 0,
    completed_at: completedAt,
    error: { code: 'cancelled', message: 'The task was cancelled before it did any work.' },
  },
  failed: failedTask,
  expired: { ...familyB, status: 'expired', progress: 100, completed_at: completedAt },
  imagesResponse: {
    created,
    data: [{ b64_json: pixel }],
    size: '1024x1024',
    quality: 'medium',
    usage,
  },
  contentResponse: {
    candidates: [candidate({ inlineData: { mimeType: 'image/png', data: pixel } })],
    ...native,
  },
  newWebhook: { url: webhook.url },
  webhook,
  webhookWithSecret: {
    ...webhook,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  },
  delivery: {
    delivery_id: 'whd_0123456789abcdef0123456789abcdef',
    webhook_id: webhook.webhook_id,
    event: 'task.succeeded',
    task_id: taskId,
    status: 'pending',
    created_at: endedAt,
    attempts: [{ at: '2026-01-01T00:00:41.380Z', http_status: 503 }],
    next_attempt_at: '2026-01-01T00:00:46.702Z',
  },
  taskSucceededEvent: { type: 'task.succeeded', timestamp: endedAt, data: succeededTask },
  taskFailedEvent: { type: 'task.failed', timestamp: endedAt, data: failedTask },
  webhookTestEvent: {
    type: 'webhook.test',
    timestamp: endedAt,
    data: { webhook_id: webhook.webhook_id },
  },
  contentRejection: { promptFeedback: { blockReason: 'SAFETY' }, ...native },
} as const
