import { words as en } from './words/en.js'
import { words as zh } from './words/zh.js'

/**
 * The languages of the playground and the console, each a file of words.
 * @type {readonly (typeof en)[]}
 */
export const languages = [en, zh]

const chosenName = 'darkroom.language'

/** The words of the page: in the language that the reader chose, or else in the first of the browser's that is here. */
export const words =
  [chosen(), ...navigator.languages]
    .map((tag) => languages.find(({ language }) => primary(language) === primary(tag)))
    .find((each) => each !== undefined) ?? en

document.documentElement.lang = words.language

/** @param {string} tag such as `zh-Hans`, as BCP 47 has it */
function primary(tag) {
  return tag.split('-')[0]
}

/** Returns the tag of the language that the reader chose in this browser, or an empty text. */
function chosen() {
  try {
    return localStorage.getItem(chosenName) ?? ''
  } catch {
    return ''
  }
}

/**
 * Keeps the choice of a language for later visits, and loads the page again in it. Where the browser forbids storage,
 * its own languages decide.
 * @param {string} language
 */
export function choose(language) {
  try {
    localStorage.setItem(chosenName, language)
  } catch {
    return
  }
  location.reload()
}
