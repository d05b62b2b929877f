import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import type { Darkroom, Picture, TaskRecord } from '../darkroom.ts'
import { DarkroomError } from '../darkroom.ts'
import type { Purchases } from './purchases.ts'

/** What a tool call works with. */
export type ToolWorld = {
  readonly darkroom: Darkroom
  readonly purchases: Purchases
  /** How long a call may take: MCP clients give up after a minute. */
  readonly answerMs: number
  /** Names the account that pays, without being its key. */
  readonly payer: string
  /** Whether the caller's files are here: source images may be paths, and images are written to `outputDir`. */
  readonly isLocal: boolean
  readonly outputDir: string | undefined
}

/** One tool call. */
export type ToolCall = {
  readonly context: ServerContext
  readonly preview: boolean
  /** When it must be answered, by `performance.now()`. */
  readonly answerAtMs: number
}

type Answer = Promise<CallToolResult>

export const taskOutput = z.object({
  task_id: z.string(),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed', 'expired']),
  credits_charged: z.number().optional(),
  url: z.string().optional().describe('The whole image. It works without a key until it expires.'),
  mime_type: z.string().optional(),
  path: z.string().optional().describe('Where the image was written.'),
})

/** Larger previews cost more tokens than they show. */
const previewBytesMax = 256 * 1_024
const previewWidths = [512, 256, 128] as const
const extensions = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' } as const

/** Waits for a task as long as a call may take, and answers with its image, or that it goes on. */
export async function answerTask(world: ToolWorld, taskId: string, call: ToolCall): Answer {
  const record = await endOf(world, taskId, call)
  if (record.output !== undefined) return imageAnswer(world, record, call)
  if (record.error === undefined && record.status !== 'expired') {
    const { status, progress } = record
    const text = `${taskId} is ${status} (${progress} %). Ask get_task with this task_id for the image: it waits too.`
    return { content: [{ type: 'text', text }], structuredContent: { task_id: taskId, status } }
  }
  await world.purchases.answered(taskId, { hasImage: false })
  const gone = { code: 'result_expired', message: 'The image has expired, or was deleted.' }
  const { code, message } = record.error ?? gone
  return failureAnswer(new DarkroomError(message, { code, taskId }))
}

/** Returns the record of a task when it has ended, or as it is when the call must be answered. */
async function endOf({ darkroom }: ToolWorld, taskId: string, { context, answerAtMs }: ToolCall) {
  const { signal, notify, _meta } = context.mcpReq
  const progressToken = _meta?.progressToken
  let told = -1
  const timeoutMs = Math.max(1, answerAtMs - performance.now())
  try {
    for await (const { progress, status } of darkroom.tasks.follow(taskId, { signal, timeoutMs })) {
      if (progressToken === undefined || progress <= told) continue
      told = progress
      const params = { progressToken, progress, total: 100, message: `${taskId} is ${status}` }
      await notify({ method: 'notifications/progress', params })
    }
  } catch (error) {
    if (!(error instanceof DarkroomError && error.code === 'timeout')) throw error
  }
  return darkroom.tasks.get(taskId, { signal })
}

async function imageAnswer(world: ToolWorld, task: TaskRecord, { preview }: ToolCall): Answer {
  const { darkroom, purchases, outputDir } = world
  const { task_id: taskId, status, credits_charged: credits } = task
  const picture = darkroom.images.of(task)
  const mimeType = task.output?.assets[0]?.mime_type ?? 'image/png'
  const name = `${taskId}.${extensions[mimeType]}`
  const path = outputDir === undefined ? undefined : join(outputDir, name)
  if (outputDir !== undefined && path !== undefined) {
    await mkdir(outputDir, { recursive: true })
    await picture.save(path)
  }
  const where = path === undefined ? '' : ` It is at ${path}.`
  const text = `${taskId} is done and cost ${credits} credits.${where} The same call again within 10 minutes returns this image; another variation makes another one.`
  const content: CallToolResult['content'] = [
    { type: 'text', text },
    { type: 'resource_link', uri: picture.url, name, mimeType },
    ...(preview ? await previewOf(picture) : []),
  ]
  await purchases.answered(taskId, { hasImage: true })
  const fields = { task_id: taskId, status, url: picture.url, mime_type: mimeType }
  // Fields that do not apply are absent in JSON.
  return { content, structuredContent: { ...fields, credits_charged: credits, path } }
}

/** Returns the largest preview that is small enough. */
async function previewOf(picture: Picture): Promise<CallToolResult['content']> {
  for (const width of previewWidths) {
    const bytes = await picture.variant({ width, format: 'jpeg' }).bytes()
    if (bytes.length > previewBytesMax) continue
    const data = Buffer.from(bytes).toString('base64')
    return [{ type: 'image', data, mimeType: 'image/jpeg' }]
  }
  return []
}

const ownerHelps = ' Only the owner of the API key can raise its credits or its budget.'
const callAgain = ' It may have been accepted: the same call again buys nothing twice.'

/** Says what went wrong, and what helps. */
export function failureAnswer(error: unknown): CallToolResult {
  const known = error instanceof DarkroomError ? error : new DarkroomError(String(error), {})
  const { message, code, taskId, idempotencyKey } = known
  const isUnknown = idempotencyKey !== undefined
  const advice = code === 'insufficient_user_quota' ? ownerHelps : isUnknown ? callAgain : ''
  const named = [code, taskId].filter((each) => each !== undefined).join(', ')
  const text = `${message}${named === '' ? '' : ` (${named})`}${advice}`
  return { isError: true, content: [{ type: 'text', text }] }
}
