import { z } from 'zod'
import { aspectRatios, inputMimeTypes, tierSizes } from '../domain/models.ts'

/**
 * The part of Google's `generateContent` request that Darkroom carries (design section 4), in
 * camelCase. Every object is strict: a field that is not carried is refused by name, not dropped.
 */

/** Google writes these in capitals, its clients also otherwise. */
const upperCased = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(values))

const part = z
  .strictObject({
    text: z.string().optional(),
    inlineData: z.strictObject({ mimeType: z.enum(inputMimeTypes), data: z.string() }).optional(),
    thought: z.boolean().optional(),
    thoughtSignature: z.string().min(1).optional(),
  })
  .refine((part) => part.text === undefined || part.inlineData === undefined, {
    error: 'a part holds either text or inlineData',
  })
  .refine(
    (part) => (part.text ?? part.inlineData ?? part.thoughtSignature) !== undefined,
    'a part holds text or inlineData',
  )

const turn = z.strictObject({
  role: z.enum(['user', 'model']).default('user'),
  parts: z.array(part).min(1),
})

const systemInstruction = z.strictObject({
  role: z.enum(['system', 'user']).optional(),
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
})

const safetySetting = z.strictObject({
  category: z.string().regex(/^HARM_CATEGORY_[A-Z_]{1,60}$/, 'a HARM_CATEGORY_ name'),
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
  includeThoughts: z.boolean().optional(),
  thinkingBudget: z.int().min(-1).optional(),
  thinkingLevel: upperCased([
    'THINKING_LEVEL_UNSPECIFIED',
    'MINIMAL',
    'LOW',
    'MEDIUM',
    'HIGH',
  ]).optional(),
})

const generationConfig = z.strictObject({
  responseModalities: z
    .array(upperCased(['TEXT', 'IMAGE']))
    .refine((modalities) => modalities.includes('IMAGE'), 'must include IMAGE')
    .optional(),
  imageConfig: z
    .strictObject({
      aspectRatio: z.enum(aspectRatios).optional(),
      imageSize: z.enum(tierSizes).optional(),
    })
    .optional(),
  candidateCount: z.literal(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.int().min(1).optional(),
  seed: z.int32().optional(),
  maxOutputTokens: z.int32().min(1).optional(),
  thinkingConfig: thinkingConfig.optional(),
})

/** The body of `POST /v1beta/models/{model}:generateContent` and `:asyncGenerateContent`. */
export const contentRequest = z.strictObject({
  contents: z
    .array(turn)
    .min(1)
    .refine(
      (turns) => turns.some((turn) => turn.parts.some((part) => (part.text ?? '') !== '')),
      'at least one part must hold a text that is not empty',
    ),
  systemInstruction: systemInstruction.optional(),
  safetySettings: z.array(safetySetting).max(50).optional(),
  generationConfig: generationConfig.optional(),
})

export type ContentRequest = z.infer<typeof contentRequest>
