// Shows openapi.json with Swagger UI, which is loaded before this script.

const place = document.getElementById('reference')
const notice = document.getElementById('notice')

/** Fetches the document and shows it in the place of the notice. */
async function showReference() {
  const answer = await fetch('openapi.json')
  if (!answer.ok) throw new Error(`openapi.json answers ${answer.status}`)
  const spec = await answer.json()
  const base = new URL('.', document.baseURI).href.replace(/\/$/, '')
  /** @type {(options: object) => unknown} */
  const showDocument = Reflect.get(globalThis, 'SwaggerUIBundle')
  showDocument({
    // Requests go to the origin of this page. The policy of the page allows no other.
    spec: { ...spec, servers: [{ url: base }] },
    domNode: place,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
  })
}

showReference().catch((error) => {
  if (notice)
    notice.textContent = `The reference cannot be shown: ${String(error)}. Reload the page.`
})
