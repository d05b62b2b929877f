import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from 'words'
import { AccountBar, useAccount } from './accountBar.js'
import { cancelTask, deleteTask, imageAddress } from './calls/api.js'
import { Composer } from './form/composer.js'
import { EmptyStage } from './results/emptyStage.js'
import { Gallery } from './results/gallery.js'
import { emptyDraft } from './form/models.js'
import { callApi } from '../shared/callApi.js'
import { keep, recall } from '../shared/session.js'
import { SubmissionNotice } from './results/submissionNotice.js'
import { TaskStage } from './results/taskStage.js'
import { useSources } from './form/useSources.js'
import { useSubmission } from './results/useSubmission.js'
import { useTasks } from './results/useTasks.js'
import { watchTask } from './calls/watchTask.js'

/** @import { TaskRecord } from '../../domain/tasks/taskRecord.ts' */
/** @import { Account } from './calls/api.js' */
/** @import { Refusal } from './results/taskStage.js' */
/** @import { Draft, ImageRequest, Model } from './form/models.js' */
/** @import { SourceImage } from './form/sourceImages.js' */

/**
 * The page of an account: the form, the task on display, and the gallery.
 * @param {{
 *   readonly apiKey: string,
 *   readonly account: Account,
 *   readonly models: readonly [Model, ...Model[]],
 *   readonly onSignOut: () => void,
 * }} props
 */
export function Studio({ apiKey, account: opened, models, onSignOut }) {
  const [draft, setDraft] = useState(recall('draft', emptyDraft))
  const [shownId, setShownId] = useState(
    recall('shown', /** @type {string | undefined} */ (undefined)),
  )
  const [refusal, setRefusal] = useState(/** @type {Refusal | undefined} */ (undefined))
  const prompt = useRef(/** @type {HTMLTextAreaElement | null} */ (null))
  const results = useRef(/** @type {HTMLElement | null} */ (null))
  const tasks = useTasks(apiKey, shownId)
  const account = useAccount(apiKey, opened, tasks.records)
  const sources = useSources()
  const submission = useSubmission(apiKey, (taskId, createdAtMs, request) => {
    tasks.accepted(acceptedRecord(taskId, createdAtMs, request), request)
    show(taskId)
  })

  useEffect(() => keep('draft', draft), [draft])
  useEffect(() => keep('shown', shownId), [shownId])
  useEffect(() => prompt.current?.focus(), [])

  const model = models.find(({ id }) => id === draft.model) ?? models[0]
  const record = shownId === undefined ? undefined : tasks.records[shownId]
  const request = shownId === undefined ? undefined : tasks.requests[shownId]

  function show(/** @type {string} */ taskId) {
    setRefusal(undefined)
    setShownId(taskId)
    bringIntoView(results.current)
  }

  function submit(
    /** @type {ImageRequest} */ request,
    /** @type {readonly SourceImage[]} */ images,
  ) {
    bringIntoView(results.current)
    submission.submit(request, images)
  }

  /** Gives up a submit. The API may have made its task all the same, so the gallery is read again. */
  function dismiss() {
    submission.dismiss()
    void tasks.refresh()
  }

  async function cancel() {
    if (record === undefined) return
    const answer = await cancelTask(apiKey, record.task_id)
    if (answer.ok) tasks.update(answer.value)
    const title = words.playground.notCancelled
    setRefusal(answer.ok ? undefined : { title, failure: answer.failure })
  }

  /** Deletes what is kept of the task on display, here too, after a question. */
  async function remove() {
    if (record === undefined || !confirm(words.playground.deleteQuestion)) return
    const answer = await deleteTask(apiKey, record.task_id)
    if (answer.ok) tasks.forget(answer.value)
    const title = words.playground.notDeleted
    setRefusal(answer.ok ? undefined : { title, failure: answer.failure })
  }

  /** Makes the image of the task on display the source of the next request. */
  async function editThis() {
    const image = imageAddress(record)
    if (record === undefined || image === undefined) return
    const answer = await callApi(apiKey, image, { read: (response) => response.blob() })
    const title = words.playground.notOpened
    setRefusal(answer.ok ? undefined : { title, failure: answer.failure })
    if (!answer.ok) return
    const canEdit = (/** @type {Model} */ { actions }) => actions.includes('edit')
    const editor = canEdit(model) ? model : (models.find(canEdit) ?? model)
    setDraft({ ...draft, model: editor.id, action: 'edit', prompt: '' })
    void sources.add([{ name: words.playground.imageAbove, blob: answer.value }], true)
    prompt.current?.focus()
  }

  /** Fills the form with the request of the task on display, and submits it once more unless it needs images. */
  function again() {
    if (request === undefined || submission.busy) return
    setDraft({ ...draft, aspect_ratio: undefined, ...request })
    if (request.action === 'generate') submit(request, [])
    else prompt.current?.focus()
  }

  function beginWith(/** @type {string} */ text) {
    setDraft((now) => ({ ...now, action: 'generate', prompt: text }))
    prompt.current?.focus()
  }

  function lose(/** @type {string} */ taskId) {
    tasks.remove(taskId)
    setShownId((now) => (now === taskId ? undefined : now))
  }

  return html`
    <${AccountBar} account=${account} onSignOut=${onSignOut} />
    ${tasks.watched.map(
      (taskId) =>
        html`<${Watch}
          key=${taskId}
          apiKey=${apiKey}
          taskId=${taskId}
          onRecord=${tasks.update}
          onGone=${() => lose(taskId)}
        />`,
    )}
    <main class="page studio">
      <${Composer}
        apiKey=${apiKey}
        available=${account.credits.available}
        draft=${draft}
        models=${models}
        model=${model}
        sources=${sources}
        busy=${submission.busy}
        promptRef=${prompt}
        onChange=${(/** @type {Partial<Draft>} */ changed) =>
          setDraft((now) => ({ ...now, ...changed }))}
        onSubmit=${submit}
      />
      <div class="results" ref=${results}>
        <${SubmissionNotice}
          state=${submission.state}
          onRepeat=${submission.repeat}
          onDismiss=${dismiss}
        />
        ${
          record && shownId
            ? html`
                <${TaskStage}
                  record=${record}
                  request=${request}
                  refusal=${refusal}
                  onCancel=${cancel}
                  onDelete=${remove}
                  onEdit=${editThis}
                  onAgain=${again}
                />
              `
            : html`<${EmptyStage} onExample=${beginWith} />`
        }
        <${Gallery} tasks=${tasks} shownId=${shownId} onShow=${show} onMore=${tasks.loadMore} />
      </div>
    </main>
  `
}

/**
 * Scrolls to an element, unless its top is in the upper half of the window already. On a phone the results are
 * below the form.
 * @param {HTMLElement | null} element
 */
function bringIntoView(element) {
  const top = element?.getBoundingClientRect().top ?? 0
  if (top < 0 || top > innerHeight / 2) element?.scrollIntoView()
}

/**
 * Follows a task while it is on the page.
 * @param {Parameters<typeof watchTask>[0]} props
 */
function Watch(props) {
  useEffect(() => watchTask(props), [])
  return null
}

/**
 * Returns the record of a task that was just accepted, until the API sends the first one.
 * @param {string} taskId
 * @param {number} createdAtMs
 * @param {ImageRequest} request
 * @returns {TaskRecord}
 */
function acceptedRecord(taskId, createdAtMs, { model }) {
  const created = new Date(createdAtMs).toISOString()
  return { task_id: taskId, model, status: 'queued', created_at: created, progress: 0 }
}
