import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AccountBar, useAccount } from './accountBar.js'
import { cancelTask, imageAddress } from './calls/api.js'
import { Announcer } from './results/announcer.js'
import { Chain } from './results/chain.js'
import { Composer } from './form/composer.js'
import { EmptyStage } from './results/emptyStage.js'
import { Gallery } from './results/gallery.js'
import { keepSources } from './form/keptSources.js'
import { draftOf, emptyDraft } from './form/models.js'
import { keep, recall } from './session.js'
import { SubmissionNotice } from './results/submissionNotice.js'
import { TaskStage } from './results/taskStage.js'
import { useSources } from './form/useSources.js'
import { useSubmission } from './results/useSubmission.js'
import { useTasks } from './results/useTasks.js'

/** @import { TaskRecord } from '../../domain/tasks/taskRecord.ts' */
/** @import { Account, Failure } from './calls/api.js' */
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
  const [cancelFailure, setCancelFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const prompt = useRef(/** @type {HTMLTextAreaElement | null} */ (null))
  const results = useRef(/** @type {HTMLElement | null} */ (null))
  const usedSources = useUsedSources()

  const { tasks, loadMore, refresh, accepted, update } = useTasks(apiKey, shownId)
  const account = useAccount(apiKey, opened, tasks.records)
  const submission = useSubmission({
    apiKey,
    accountId: account.account_id,
    onAccepted: (taskId, { request, editedTaskId }, images) => {
      usedSources.remember(taskId, images)
      accepted(acceptedRecord(taskId, request), { request, editedTaskId })
      show(taskId)
    },
  })
  const sources = useSources()

  useEffect(() => keep('draft', draft), [draft])
  useEffect(() => keep('shown', shownId), [shownId])
  useEffect(() => {
    if (tasks.gone === shownId) setShownId(undefined)
  }, [tasks.gone])
  useEffect(() => prompt.current?.focus(), [])

  const model = models.find(({ id }) => id === draft.model) ?? models[0]
  const record = shownId === undefined ? undefined : tasks.records[shownId]
  const note = shownId === undefined ? undefined : tasks.notes[shownId]

  function show(/** @type {string} */ taskId) {
    setCancelFailure(undefined)
    setShownId(taskId)
    bringIntoView(results.current)
  }

  function submit(
    /** @type {ImageRequest} */ request,
    /** @type {readonly SourceImage[]} */ images,
  ) {
    bringIntoView(results.current)
    void submission.submit(request, images)
  }

  /** Gives up a submit. The API may have made its task all the same, so the gallery is read again. */
  function dismiss() {
    submission.dismiss()
    void refresh()
  }

  async function cancel() {
    if (record === undefined) return
    const answer = await cancelTask(apiKey, record.task_id)
    if (answer.ok) update(answer.value)
    setCancelFailure(answer.ok ? undefined : answer.failure)
  }

  /** Makes the image of the task on display the source of the next request. */
  async function editThis() {
    const image = imageAddress(record)
    if (record === undefined || image === undefined) return
    const blob = await fetch(image)
      .then((response) => response.blob())
      .catch(() => undefined)
    if (blob === undefined) return
    const editor = model.actions.includes('edit')
      ? model
      : models.find(({ actions }) => actions.includes('edit'))
    setDraft({ ...draft, model: editor?.id ?? model.id, action: 'edit', prompt: '' })
    sources.replace([{ name: 'The image above', blob, fromTaskId: record.task_id }])
    prompt.current?.focus()
  }

  /** Submits the request of the task on display once more. After a reload the source images are gone. */
  function again() {
    if (record === undefined || note === undefined || submission.busy) return
    const { request } = note
    setDraft(draftOf(draft, request))
    const images = usedSources.of(record.task_id)
    if (request.action === 'generate') submit(request, [])
    else if (images === undefined) sources.say('Add the source images again: a reload forgot them.')
    else {
      sources.replace(images)
      submit(request, images)
    }
  }

  function beginWith(/** @type {string} */ text) {
    setDraft((now) => ({ ...now, action: 'generate', prompt: text }))
    prompt.current?.focus()
  }

  async function signOut() {
    submission.dismiss()
    await Promise.all([keepSources('draft', []), keepSources('pending', [])])
    onSignOut()
  }

  return html`
    <${AccountBar} account=${account} onSignOut=${signOut} />
    <main class="studio">
      <${Composer}
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
        <${Announcer} record=${record} />
        ${
          record && shownId
            ? html`
                <${TaskStage}
                  apiKey=${apiKey}
                  record=${record}
                  note=${note}
                  cancelFailure=${cancelFailure}
                  onCancel=${cancel}
                  onEdit=${editThis}
                  onAgain=${again}
                />
                <${Chain} tasks=${tasks} taskId=${shownId} onShow=${show} />
              `
            : html`<${EmptyStage} onExample=${beginWith} />`
        }
        <${Gallery} tasks=${tasks} shownId=${shownId} onShow=${show} onMore=${loadMore} />
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

/** Tasks whose source images are kept in memory, so that they can be made again. */
const usedSourcesMax = 20

function useUsedSources() {
  const kept = useRef(/** @type {Map<string, readonly SourceImage[]>} */ (new Map())).current
  return {
    /** @param {string} taskId */
    of: (taskId) => kept.get(taskId),
    /** @param {string} taskId @param {readonly SourceImage[]} images */
    remember: (taskId, images) => {
      kept.set(taskId, images)
      const [oldest] = kept.keys()
      if (kept.size > usedSourcesMax && oldest !== undefined) kept.delete(oldest)
    },
  }
}

/**
 * Returns the record of a task that was just accepted, until the API sends the first one.
 * @param {string} taskId
 * @param {ImageRequest} request
 * @returns {TaskRecord}
 */
function acceptedRecord(taskId, { model }) {
  return {
    task_id: taskId,
    model,
    status: 'queued',
    created_at: new Date().toISOString(),
    progress: 0,
  }
}
