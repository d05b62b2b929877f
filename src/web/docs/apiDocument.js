/**
 * What the page reads of an OpenAPI 3.1 document.
 * @typedef {{
 *   readonly $ref?: string,
 *   readonly type?: string | readonly string[],
 *   readonly format?: string,
 *   readonly description?: string,
 *   readonly enum?: readonly unknown[],
 *   readonly const?: string | number | boolean,
 *   readonly minimum?: number,
 *   readonly maximum?: number,
 *   readonly maxLength?: number,
 *   readonly maxItems?: number,
 *   readonly properties?: Readonly<Record<string, Schema>>,
 *   readonly required?: readonly string[],
 *   readonly items?: Schema,
 *   readonly anyOf?: readonly Schema[],
 *   readonly example?: unknown,
 * }} Schema
 *
 * @typedef {{
 *   readonly in: 'path' | 'query' | 'header',
 *   readonly name: string,
 *   readonly required?: boolean,
 *   readonly schema: Schema,
 * }} Parameter
 *
 * @typedef {Readonly<Record<string, { readonly schema: Schema }>>} Content
 * @typedef {{
 *   readonly $ref?: string,
 *   readonly description?: string,
 *   readonly content?: Content,
 *   readonly 'x-error-codes'?: readonly string[],
 * }} Answer
 *
 * @typedef {{
 *   readonly operationId: string,
 *   readonly tags: readonly [string],
 *   readonly summary: string,
 *   readonly description?: string,
 *   readonly security?: readonly unknown[],
 *   readonly parameters?: readonly Parameter[],
 *   readonly requestBody?: { readonly content: Content },
 *   readonly responses: Readonly<Record<string, Answer>>,
 * }} DocumentOperation
 * @typedef {{
 *   readonly tags: readonly { readonly name: string, readonly description: string }[],
 *   readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>,
 *   readonly components: {
 *     readonly schemas: Readonly<Record<string, Schema>>,
 *     readonly responses: Readonly<Record<string, Answer>>,
 *   },
 * }} ApiDocument
 * @typedef {ReturnType<typeof operationsOf>[number]} Operation
 */

/**
 * Returns the operations of a document in its order, with their references to answers followed.
 * @param {ApiDocument} document
 */
export function operationsOf({ paths, components }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const [body] = Object.entries(operation.requestBody?.content ?? {})
      return {
        id: operation.operationId,
        tag: operation.tags[0],
        method: method.toUpperCase(),
        path,
        summary: operation.summary,
        description: operation.description ?? '',
        needsKey: operation.security === undefined,
        parameters: operation.parameters ?? [],
        body: body && { type: body[0], schema: followed(body[1].schema, components.schemas) },
        answers: Object.entries(operation.responses).map(
          ([status, answer]) =>
            /** @type {const} */ ([status, followed(answer, components.responses)]),
        ),
      }
    }),
  )
}

/**
 * Follows a reference to a component of the document.
 * @template {{ readonly $ref?: string }} T
 * @param {T} value
 * @param {Readonly<Record<string, T>>} components by name
 * @returns {T}
 */
export function followed(value, components) {
  return components[value.$ref?.split('/').at(-1) ?? ''] ?? value
}

/**
 * Returns the body that a sample and the form begin with: the example of the document, or those of its fields.
 * @param {Operation} operation
 * @returns {unknown}
 */
export function exampleBody({ body }) {
  if (body === undefined) return undefined
  if (body.type !== 'application/json') return exampleForm
  const fields = Object.entries(body.schema.properties ?? {}).map(([name, { example }]) => [
    name,
    example,
  ])
  return body.schema.example ?? Object.fromEntries(fields)
}

/** The fields of an edit besides its image. */
const exampleForm = { model: 'familyb-image-2-vip', prompt: 'Make it night, with the lamp lit' }
