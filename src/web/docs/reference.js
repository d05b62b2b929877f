// Shows openapi.json with Swagger UI, which is loaded before this script.

const place = document.getElementById('reference')
const status = place?.querySelector('.loading')

try {
  const answer = await fetch('openapi.json')
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`)
  const spec = await answer.json()
  Reflect.get(
    globalThis,
    'SwaggerUIBundle',
  )({
    // Requests go to the origin of this page. The policy of the page allows no other.
    spec: { ...spec, servers: [{ url: new URL('.', document.baseURI).href.replace(/\/$/, '') }] },
    domNode: place,
    deepLinking: false,
    defaultModelsExpandDepth: 0,
    docExpansion: 'list',
    validatorUrl: null,
  })
} catch (error) {
  if (status)
    status.textContent = `The reference cannot be shown (${String(error)}). Reload the page.`
}
