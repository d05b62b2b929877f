// Makes one image with a library for JavaScript: node javascript.mjs LIBRARY OPERATION
//
// DARKROOM_URL and DARKROOM_API_KEY name the service. PROMPT is the prompt, SOURCE the PNG that an edit changes.
// It prints the image as one line of Base64. clients.ts copies this file beside the libraries that it installs.
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'

const [library, operation] = process.argv.slice(2)
const { DARKROOM_URL: url, DARKROOM_API_KEY: key, PROMPT: prompt, SOURCE: source } = process.env
const model = 'familyb-image-2-vip'
const size = '1024x1024'
const isEdit = operation.includes('edit')
/** The library reads a stream that has begun before its image is there. */
const isStream = operation.startsWith('stream')

/** Each returns the image in Base64. */
const libraries = {
  openai: async () => {
    const { OpenAI } = await import('openai')
    const { images } = new OpenAI({ apiKey: key, baseURL: url + '/v1' })
    const fields = { model, prompt, size, ...(isStream && { stream: true, partial_images: 2 }) }
    const answer = isEdit
      ? await images.edit({ ...fields, image: createReadStream(source) })
      : await images.generate(fields)
    return isStream ? (await last(answer)).b64_json : answer.data[0].b64_json
  },
  '@ai-sdk/openai': async () => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return withVercel(createOpenAI({ apiKey: key, baseURL: url + '/v1' }).image(model))
  },
  '@ai-sdk/openai-compatible': async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const provider = createOpenAICompatible({ name: 'darkroom', apiKey: key, baseURL: url + '/v1' })
    return withVercel(provider.imageModel(model))
  },
  '@google/genai': async () => {
    const { GoogleGenAI } = await import('@google/genai')
    const google = new GoogleGenAI({
      apiKey: key,
      httpOptions: { baseUrl: url, headers: { Authorization: 'Bearer ' + key } },
    })
    const data = (await readFile(source)).toString('base64')
    const images = isEdit ? [{ inlineData: { mimeType: 'image/png', data } }] : []
    const request = {
      model: 'familya-3-pro-image',
      contents: [{ text: prompt }, ...images],
      config: {
        responseModalities: ['IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '1K' },
      },
    }
    const { candidates } = isStream
      ? await last(await google.models.generateContentStream(request))
      : await google.models.generateContent(request)
    const { parts } = candidates[0].content
    return parts.find(({ inlineData }) => inlineData !== undefined).inlineData.data
  },
}

async function last(stream) {
  let event
  for await (event of stream);
  return event
}

async function withVercel(vercelModel) {
  const { generateImage } = await import('ai')
  const images = [await readFile(source)]
  const made = await generateImage({
    model: vercelModel,
    prompt: isEdit ? { text: prompt, images } : prompt,
    size,
  })
  return made.image.base64
}

try {
  console.log(await libraries[library]())
} catch (error) {
  // clients.ts prints the last line.
  console.error(String(error))
  process.exitCode = 1
}
