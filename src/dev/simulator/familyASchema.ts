import { z } from 'zod'

/** The parts of generateContent's request that the image models take: research/wire.md section 1. */
const partSchema = z.strictObject({
  text: z.string().optional(),
  inlineData: z.strictObject({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.unknown().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
})

const contentSchema = z.strictObject({
  role: z.enum(['user', 'model']).optional(),
  parts: z.array(partSchema).min(1),
})

const generationConfigSchema = z.strictObject({
  responseModalities: z.array(z.enum(['TEXT', 'IMAGE'])).optional(),
  imageConfig: z
    .strictObject({ aspectRatio: z.string().optional(), imageSize: z.string().optional() })
    .optional(),
  candidateCount: z.int().optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().positive().optional(),
  seed: z.int().optional(),
  maxOutputTokens: z.int().positive().optional(),
  stopSequences: z.array(z.string()).max(5).optional(),
  thinkingConfig: z.looseObject({}).optional(),
})

const requestSchema = z.strictObject({
  contents: z.array(contentSchema).min(1),
  systemInstruction: z.looseObject({}).optional(),
  safetySettings: z.array(z.looseObject({})).optional(),
  generationConfig: generationConfigSchema.optional(),
})

export type RequestA = z.infer<typeof requestSchema>
export type PartA = z.infer<typeof partSchema>

export type CheckedA = { ok: true; request: RequestA } | { ok: false; message: string }

/** Takes camelCase and snake_case; the message of a refusal is worded as the vendor words it. */
export function checkRequestA(body: unknown): CheckedA {
  const parsed = requestSchema.safeParse(camelCaseKeys(body))
  if (parsed.success) return { ok: true, request: parsed.data }
  const [issue] = parsed.error.issues
  const path = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const at = path === '' ? '' : ` at '${path}'`
    const message = `Invalid JSON payload received. Unknown name "${issue.keys[0] ?? ''}"${at}: Cannot find field.`
    return { ok: false, message }
  }
  return { ok: false, message: `Invalid value at '${path}': ${issue?.message ?? 'not an object'}` }
}

function camelCaseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCaseKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [camelCase(key), camelCaseKeys(item)])
  return Object.fromEntries(entries)
}

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
