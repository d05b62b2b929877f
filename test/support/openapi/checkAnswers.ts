import { afterEach, expect } from 'vitest'
import { takeAnswerFaults } from './answerFaults.ts'

// Loaded before every test file (vitest.config.ts). Compares every answer that a test fetches from the API
// with the OpenAPI document. A test fails when an answer is not as described.

afterEach(() => expect(takeAnswerFaults(), 'answers that differ from /openapi.json').toEqual([]))
