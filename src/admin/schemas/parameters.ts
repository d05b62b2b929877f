import { z } from 'zod'
import { taskId } from '../../schema/answers/recordAnswer.ts'
import { limitParameter } from '../../schema/queries.ts'

/** A name or an id, as an operator found it. PostgreSQL has no text with NUL. */
export const anyText = z
  .string()
  .regex(/^[^\0]{1,300}$/, { error: 'a text of 1 to 300 characters' })
  .meta({ example: 'text' })

/** The path of one task. */
export const ofTask = z.strictObject({ task_id: taskId })

/** The query of a list of what has a name. */
export const namedQuery = z.strictObject({
  limit: limitParameter,
  after: anyText.optional().meta({
    description: 'The last name of the previous page. The list continues after it.',
  }),
})

/** The query of a list whose rows are numbered by PostgreSQL. */
export const numberedQuery = z.strictObject({
  limit: limitParameter,
  after: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, { error: 'the id of a row from the previous page' })
    .transform(Number)
    .optional()
    .meta({
      description: 'The id of the last row of the previous page. The list continues after it.',
      example: '1000',
    }),
})

const manyMax = 100

/** How many things one request changes, and whether it only names them. */
export const many = {
  dry_run: z.boolean().meta({ description: 'True: only names what would be done.' }),
  limit: z.int().min(1).max(manyMax).default(manyMax),
}

/** Which of all that match, so that a change after a dry run changes nothing that has come since. */
export function onlyThese(id: z.ZodString) {
  const description = 'Only these, such as what a dry run has named.'
  return z.array(id).max(manyMax).optional().meta({ description })
}
