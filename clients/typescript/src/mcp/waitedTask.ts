import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import type { CallOptions, Darkroom, Picture, TaskRecord } from '../darkroom.ts'
import { DarkroomError } from '../darkroom.ts'
import type { Deadline } from '../deadline.ts'
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
  /** When it must be answered. */
  readonly deadline: Deadline
}

type Answer = Promise<CallToolResult>

export const taskOutput = z.object({
  task_id: z.string(),
  status: z.string().describe('queued, processing, succeeded or completed.'),
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
  // Where that cannot be written, the task's failure is still what its caller must know.
  await world.purchases.answered(taskId, { hasImage: false }).catch(() => {})
  const gone = { code: 'result_expired', message: 'The image has expired, or was deleted.' }
  const { code, message } = record.error ?? gone
  return failureAnswer(new DarkroomError(message, { code, taskId }))
}

/** Returns the limits of what a tool call does: all of it ends when the call must be answered. */
export function limitsOf({ context, deadline }: ToolCall): CallOptions {
  return { signal: context.mcpReq.signal, timeoutMs: deadline.leftMs() }
}

/** Returns the record of a task when it has ended, or as it is when the call must be answered. */
async function endOf({ darkroom }: ToolWorld, taskId: string, call: ToolCall): Promise<TaskRecord> {
  const { notify, _meta } = call.context.mcpReq
  const progressToken = _meta?.progressToken
  let told = -1
  let seen: TaskRecord | undefined
  try {
    for await (const record of darkroom.tasks.follow(taskId, limitsOf(call))) {
      seen = record
      const { progress, status } = record
      if (progressToken === undefined || progress <= told) continue
      told = progress
      const params = { progressToken, progress, total: 100, message: `${taskId} is ${status}` }
      await notify({ method: 'notifications/progress', params })
    }
    // Events do not say what an image cost.
    return await darkroom.tasks.get(taskId, limitsOf(call))
  } catch (error) {
    const isLate = error instanceof DarkroomError && error.code === 'timeout'
    if (!isLate || seen === undefined) throw error
    return seen
  }
}

async function imageAnswer(world: ToolWorld, task: TaskRecord, call: ToolCall): Answer {
  const { darkroom, purchases, outputDir } = world
  const { task_id: taskId, status, credits_charged: credits } = task
  const picture = darkroom.images.of(task)
  const mimeType = task.output?.assets[0]?.mime_type ?? 'image/png'
  const name = `${taskId}.${extensions[mimeType]}`
  const failures: string[] = []
  /** The image is paid: what else fails is told beside its address. */
  async function attempt<Value>(what: string, work: () => Promise<Value>) {
    return work().catch((error: unknown) => {
      failures.push(` ${what}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    })
  }
  const path =
    outputDir &&
    (await attempt(`It was not written to ${outputDir}`, async () => {
      await mkdir(outputDir, { recursive: true })
      await picture.save(join(outputDir, name), limitsOf(call))
      return join(outputDir, name)
    }))
  const preview =
    call.preview && (await attempt('It has no preview now', () => previewOf(picture, call)))
  await attempt('That it was answered was not kept', () =>
    purchases.answered(taskId, { hasImage: true }),
  )
  const cost = credits === undefined ? '' : ` and cost ${credits} credits`
  const where = path ? ` It is at ${path}.` : ''
  const text = `${taskId} is done${cost}.${where}${failures.join('')} The same call again within 10 minutes returns this image; another variation makes another one.`
  const content: CallToolResult['content'] = [
    { type: 'text', text },
    { type: 'resource_link', uri: picture.url, name, mimeType },
    ...(preview || []),
  ]
  const fields = { task_id: taskId, status, url: picture.url, mime_type: mimeType }
  // Fields that do not apply are absent in JSON.
  return { content, structuredContent: { ...fields, credits_charged: credits, path } }
}

/** Returns the largest preview that is small enough. */
async function previewOf(picture: Picture, call: ToolCall): Promise<CallToolResult['content']> {
  for (const width of previewWidths) {
    const bytes = await picture.variant({ width, format: 'jpeg' }).bytes(limitsOf(call))
    if (bytes.length > previewBytesMax) continue
    const data = Buffer.from(bytes).toString('base64')
    return [{ type: 'image', data, mimeType: 'image/jpeg' }]
  }
  return []
}

const askLater = ' The task goes on: ask get_task.'
const ownerHelps = ' Only the owner of the API key can raise its credits or its budget.'
const callAgain = ' It may have been accepted: the same call again buys nothing twice.'

/** Says what went wrong, and what helps. */
export function failureAnswer(error: unknown): CallToolResult {
  const known = error instanceof DarkroomError ? error : new DarkroomError(String(error), {})
  const { message, code, taskId, idempotencyKey } = known
  const isUnknown = idempotencyKey !== undefined
  const advices = [
    code === 'insufficient_user_quota' && ownerHelps,
    isUnknown && callAgain,
    code === 'timeout' && taskId !== undefined && askLater,
  ]
  const advice = advices.find((each) => each !== false) ?? ''
  const named = [code, taskId].filter((each) => each !== undefined).join(', ')
  const text = `${message}${named === '' ? '' : ` (${named})`}${advice}`
  return { isError: true, content: [{ type: 'text', text }] }
}
