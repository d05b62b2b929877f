import { html, render } from 'htm/preact'

const place = document.getElementById('app')
if (place !== null) render(html`<h1 class="wordmark">Darkroom</h1>`, place)
