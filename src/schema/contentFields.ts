import { z } from 'zod'
import { inputMimeTypes, thinkingLevels } from '../domain/models/models.ts'
import { aspectRatioField, sizeField } from './modelFields.ts'

/**
 * The part of Google's `generateContent` request that Darkroom supports, in camelCase. Every object is
 * strict: the error names a field that is not supported, so that no field is silently ignored.
 */

const base64 = z.string().meta({ contentEncoding: 'base64' })

const part = z
  .strictObject({
    text: z.string().exactOptional(),
    inlineData: z.strictObject({ mimeType: z.enum(inputMimeTypes), data: base64 }).exactOptional(),
    thought: z.boolean().exactOptional(),
    thoughtSignature: z.string().min(1).exactOptional(),
  })
  .refine((part) => part.text === undefined || part.inlineData === undefined, {
    error: 'a part contains either text or inlineData',
  })
  .refine(
    (part) => (part.text ?? part.inlineData ?? part.thoughtSignature) !== undefined,
    'a part contains text or inlineData',
  )
  .meta({
    description: 'Contains `text` or `inlineData`, not both.',
    override: {
      anyOf: ['text', 'inlineData', 'thoughtSignature'].map((name) => ({ required: [name] })),
    },
  })

const turn = z.strictObject({
  role: z.enum(['user', 'model']).default('user'),
  parts: z.array(part).min(1),
})

const systemInstruction = z.strictObject({
  role: z.enum(['system', 'user']).exactOptional(),
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
})

const safetySetting = z.strictObject({
  category: z.string().regex(/^HARM_CATEGORY_[A-Z_]{1,60}$/, 'must be a HARM_CATEGORY_ name'),
  threshold: z.enum([
    'HARM_BLOCK_THRESHOLD_UNSPECIFIED',
    'BLOCK_LOW_AND_ABOVE',
    'BLOCK_MEDIUM_AND_ABOVE',
    'BLOCK_ONLY_HIGH',
    'BLOCK_NONE',
    'OFF',
  ]),
})

const thinkingConfig = z.strictObject({
  includeThoughts: z.boolean().exactOptional(),
  thinkingBudget: z.int().min(-1).exactOptional(),
  thinkingLevel: upperCased(['THINKING_LEVEL_UNSPECIFIED', ...thinkingLevels]).exactOptional(),
})

const generationConfig = z.strictObject({
  responseModalities: z
    .array(upperCased(['TEXT', 'IMAGE']))
    .refine((modalities) => modalities.includes('IMAGE'), 'must include IMAGE')
    .meta({ override: { contains: { const: 'IMAGE' } } })
    .exactOptional(),
  imageConfig: z
    .strictObject({
      aspectRatio: aspectRatioField().exactOptional(),
      imageSize: sizeField('A').exactOptional(),
    })
    .exactOptional(),
  candidateCount: z.literal(1).exactOptional(),
  temperature: z.number().min(0).max(2).exactOptional(),
  topP: z.number().min(0).max(1).exactOptional(),
  topK: z.int().min(1).exactOptional(),
  seed: z.int32().exactOptional(),
  maxOutputTokens: z.int32().min(1).exactOptional(),
  thinkingConfig: thinkingConfig.exactOptional(),
})

/** A part with text that is not empty, as JSON Schema. */
const textPart = { properties: { text: { minLength: 1 } }, required: ['text'] }

/** The body of `POST /v1beta/models/{model}:generateContent` and `:asyncGenerateContent`. */
export const contentRequest = z
  .strictObject({
    contents: z
      .array(turn)
      .min(1)
      .refine(
        (turns) => turns.some((turn) => turn.parts.some((part) => (part.text ?? '') !== '')),
        'at least one part must contain text that is not empty',
      )
      .meta({ override: { contains: { properties: { parts: { contains: textPart } } } } }),
    systemInstruction: systemInstruction.exactOptional(),
    safetySettings: z.array(safetySetting).max(50).exactOptional(),
    generationConfig: generationConfig.exactOptional(),
    tools: z
      .array(z.unknown())
      .max(0, 'tools are not supported, so the list must be empty')
      .meta({ description: "Only an empty list, which Google's clients send. It has no effect." })
      .exactOptional(),
  })
  .meta({
    id: 'ContentRequest',
    description:
      'The supported part of a `generateContent` request. Every key may also be in snake_case. A document with images is an edit.',
    example: {
      contents: [{ role: 'user', parts: [{ text: 'A lighthouse at dusk' }] }],
      generationConfig: { imageConfig: { aspectRatio: '16:9', imageSize: '2K' } },
    },
  })

export type ContentRequest = z.infer<typeof contentRequest>

/**
 * Accepts values in any letter case. Google documents them in capitals, but its clients also send lower case.
 */
function upperCased<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z
    .string()
    .meta({ enum: values, description: 'In any letter case.' })
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(values))
}
