// Makes one image with a library for JavaScript: node javascript.mjs LIBRARY OPERATION
//
// DARKROOM_URL and DARKROOM_KEY name the service. PROMPT is the prompt, SOURCE the PNG that an edit changes.
// It prints the image as one line of Base64. clients.ts copies this file beside the libraries that it installs.
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'

const [library, operation] = process.argv.slice(2)
const { DARKROOM_URL: url, DARKROOM_KEY: key, PROMPT: prompt, SOURCE: source } = process.env
const model = 'familyb-image-2-vip'
const size = '1024x1024'
const isEdit = operation === 'edit'

/** Each returns the image in Base64. */
const libraries = {
  openai: async () => {
    const { OpenAI } = await import('openai')
    const { images } = new OpenAI({ apiKey: key, baseURL: url + '/v1' })
    const answer = isEdit
      ? await images.edit({ model, prompt, size, image: createReadStream(source) })
      : await images.generate({ model, prompt, size })
    return answer.data[0].b64_json
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
    const { candidates } = await google.models.generateContent({
      model: 'familya-3-pro-image',
      contents: [{ text: prompt }, ...images],
      config: {
        responseModalities: ['IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '1K' },
      },
    })
    const { parts } = candidates[0].content
    return parts.find(({ inlineData }) => inlineData !== undefined).inlineData.data
  },
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
