import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { Model, SourceImage, TaskRequest } from '../darkroom.ts'
import { openDeadline } from '../deadline.ts'
import { version } from '../runtime.ts'
import { readSourceImages } from '../sourceImage.ts'
import { digestOf } from './purchases.ts'
import type { ToolCall, ToolWorld } from './waitedTask.ts'
import { answerTask, failureAnswer, limitsOf, taskOutput } from './waitedTask.ts'

const instructions =
  'Makes and edits images. Each image costs credits (list_models has the prices), and a budget of the API key is your limit. ' +
  'An image takes 10 s to 5 min: a call that says queued is going on, so ask get_task, and do not make it again.'

const request = {
  prompt: z.string().min(1).describe('What the image shows.'),
  model: z.string().exactOptional().describe('Default: the first of list_models.'),
  size: z.string().exactOptional().describe('Of the sizes of the model.'),
  aspect_ratio: z.string().exactOptional().describe('Of those of the model, if it has any.'),
  quality: z.string().exactOptional().describe('Of the qualities of the model. Higher costs more.'),
  variation: z.int().min(1).default(1).describe('Another number buys another image of the same.'),
  preview: z.boolean().default(false).describe('Answers with a small image too.'),
}
const byTask = z.object({ task_id: z.string().describe('Of an earlier image.') }).strict()
const byData = z.object({ data: z.base64(), mime_type: z.string() }).strict()
const byPath = z.object({ path: z.string().describe('Of a PNG, JPEG or WebP file.') }).strict()
type Source = z.infer<typeof byTask> | z.infer<typeof byData> | z.infer<typeof byPath>
type Request = z.infer<z.ZodObject<typeof request>>

const buys = {
  outputSchema: taskOutput,
  annotations: { destructiveHint: false, idempotentHint: true },
}
const strings = z.array(z.string())
const modelOutput = z.object({ id: z.string(), actions: strings, sizes: strings })
const reads = { readOnlyHint: true }

/** Creates an MCP server with the five tools. */
export function createMcpServer(world: ToolWorld): McpServer {
  const { darkroom, payer, purchases, answerMs, isLocal } = world
  const server = new McpServer({ name: 'darkroom', version }, { instructions })

  /** Runs a tool. What fails is an answer that says so, never an error of the protocol. */
  async function run(
    context: ServerContext,
    preview: boolean,
    work: (call: ToolCall) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    try {
      const deadline = openDeadline({ signal: context.mcpReq.signal, timeoutMs: answerMs })
      return await work({ context, preview, deadline })
    } catch (error) {
      return failureAnswer(error)
    }
  }

  async function make(
    { preview, variation, model: asked, ...fields }: Request,
    sources: readonly Source[] | undefined,
    context: ServerContext,
  ): Promise<CallToolResult> {
    return run(context, preview, async (call) => {
      const action = sources === undefined ? 'generate' : 'edit'
      const { data } =
        asked === undefined ? await darkroom.models.list(limitsOf(call)) : { data: [] }
      // Without a model the service says that the field is missing.
      const model = asked ?? data.find(({ actions }) => actions.includes(action))?.id ?? ''
      const images = await Promise.all((sources ?? []).map((source) => imageOf(source, call)))
      const more = sources && { input_images: await readSourceImages(images, call.deadline) }
      const wanted: TaskRequest = { ...fields, model, action, ...more }
      const digest = digestOf([payer, wanted, variation])
      const taskId = await purchases.taskOf(digest, async (idempotencyKey) => {
        const options = { ...limitsOf(call), idempotencyKey }
        return (await darkroom.tasks.create(wanted, options)).task_id
      })
      return answerTask(world, taskId, call)
    })
  }

  async function imageOf(source: Source, call: ToolCall): Promise<SourceImage> {
    if ('path' in source) return source.path
    if ('data' in source) return Buffer.from(source.data, 'base64')
    const task = await darkroom.tasks.get(source.task_id, limitsOf(call))
    return darkroom.images.of(task).bytes(limitsOf(call))
  }

  server.registerTool(
    'generate_image',
    {
      description: `Makes an image from a prompt, and costs credits. ${instructions}`,
      inputSchema: z.object(request),
      ...buys,
    },
    (given, context) => make(given, undefined, context),
  )
  const source = z.union(isLocal ? [byPath, byTask, byData] : [byTask, byData])
  server.registerTool(
    'edit_image',
    {
      description: `Makes an image from a prompt and 1 to 16 source images, and costs credits. ${instructions}`,
      inputSchema: z.object({ ...request, images: z.array(source).min(1).max(16) }),
      ...buys,
    },
    ({ images, ...given }, context) => make(given, images, context),
  )
  server.registerTool(
    'get_task',
    {
      description: `Waits up to ${answerMs / 1_000} s for the image of a task. It costs nothing.`,
      inputSchema: z.object({ task_id: z.string(), preview: request.preview }),
      outputSchema: taskOutput,
      annotations: reads,
    },
    ({ task_id, preview }, context) =>
      run(context, preview, (call) => answerTask(world, task_id, call)),
  )
  server.registerTool(
    'list_models',
    {
      description: 'Lists the models with their sizes, qualities and prices in credits.',
      inputSchema: z.object({}),
      outputSchema: z.object({ models: z.array(modelOutput) }),
      annotations: reads,
    },
    (_given, context) =>
      run(context, false, async (call) => {
        const { data } = await darkroom.models.list(limitsOf(call))
        const text = data.map(modelText).join('\n')
        const models = data.map(({ id, actions, sizes }) => ({ id, actions, sizes }))
        return { content: [{ type: 'text', text }], structuredContent: { models } }
      }),
  )
  server.registerTool(
    'get_account',
    {
      description: 'Says how many credits are left.',
      inputSchema: z.object({}),
      outputSchema: z.object({ available: z.number(), held: z.number(), spent: z.number() }),
      annotations: reads,
    },
    (_given, context) =>
      run(context, false, async (call) => {
        const { available, held, spent } = (await darkroom.account.get(limitsOf(call))).credits
        const text = `${available} credits available, ${held} held by live tasks, ${spent} spent.`
        const structuredContent = { available, held, spent }
        return { content: [{ type: 'text', text }], structuredContent }
      }),
  )
  return server
}

/** One line of a model, with its prices. The first price that matches a request counts. */
function modelText({ id, actions, sizes, aspect_ratios: ratios, prices }: Model): string {
  const priceText = prices.map((price) => {
    const { size, quality, action, credits, credits_per_input_image: each } = price
    const what = [action, size, quality].filter((part) => part !== undefined).join(' ')
    return `${what || 'any other'} ${credits}${each === 0 ? '' : ` + ${each} per source image`}`
  })
  const ratioText = ratios === null ? '' : `; aspect ratios ${ratios.join(' ')}`
  return `${id}: ${actions.join(', ')}; sizes ${sizes.join(' ')}${ratioText}; credits: ${priceText.join(', ')}`
}
