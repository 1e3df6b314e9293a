import { expect } from 'chai';
import { MortiseError } from 'mortise/sdk';
import { toolResultFrame } from '../frames.js';
import { submitFailure, wordFailure } from '../word-failure.js';

describe('the failures that a socket reports', () => {
  it('are worded when a message does not start a turn', () => {
    const failures: [string, boolean, string, string][] = [
      ['session_busy', false, 'SESSION_BUSY', 'Session is being processed by another request. Please try again.'],
      ['turn_queue_timeout', false, 'SESSION_BUSY', 'Session is being processed by another request. Please try again.'],
      ['backpressure', false, 'BACKPRESSURE', 'Server is overloaded. Please try again.'],
      ['adapter_cooldown', false, 'ADAPTER_COOLDOWN', 'The input adapter is cooling down after repeated failures'],
      ['client_closed', true, 'SERVER_SHUTTING_DOWN', 'Server is shutting down'],
      ['shutting_down', true, 'SERVER_SHUTTING_DOWN', 'Server is shutting down'],
      ['shutting_down', false, 'PLUGIN_UNAVAILABLE', 'The plugin that serves this method is not running'],
      ['internal_error', false, 'INTERNAL_ERROR', 'An internal error occurred'],
    ];
    for (const [given, draining, code, message] of failures) {
      const failure = wordFailure(submitFailure(new MortiseError(given, 'x'), draining));
      expect([failure.code, failure.message], given).to.deep.equal([code, message]);
    }
  });

  it('have the code of the socket or of HTTP, and never the text of an exception', () => {
    const failures: [unknown, string, string][] = [
      [
        new MortiseError('session_fenced', 'x'),
        'SESSION_FENCED',
        'Lock token mismatch for session s1: another worker has taken over',
      ],
      [
        new MortiseError('agent_turn_timeout', 'x', { details: { timeout_seconds: 1_800 } }),
        'TURN_TIMEOUT',
        'Turn exceeded 1800 s',
      ],
      [
        new MortiseError('provider_request_failed', 'x', { details: { cause: 'incomplete_stream' } }),
        'LLM_ERROR',
        'Model stream ended before completion',
      ],
      [new MortiseError('runner_error', 'x'), 'LLM_ERROR', 'LLM API error: the model adapter failed'],
      [new MortiseError('store_error', 'insert into'), 'INTERNAL_ERROR', 'An internal error occurred'],
      [new MortiseError('database_unavailable', 'x'), 'INTERNAL_ERROR', 'An internal error occurred'],
      [new MortiseError('context_too_large', 'too much'), 'CONTEXT_TOO_LARGE', 'too much'],
      [new Error('select secret from /etc'), 'INTERNAL_ERROR', 'An internal error occurred'],
      ['text', 'INTERNAL_ERROR', 'An internal error occurred'],
    ];
    for (const [error, code, message] of failures) {
      const failure = wordFailure(error, 's1');
      expect([failure.code, failure.message]).to.deep.equal([code, message]);
    }
  });

  it('cut the summary of a tool to 160 characters', () => {
    const shown = (summary: string | undefined): string =>
      (toolResultFrame('id', 'call_1', true, summary) as { data: { summary: string } }).data.summary;
    expect(shown('😀'.repeat(200))).to.equal('😀'.repeat(160));
    expect(shown('short')).to.equal('short');
    expect(shown(undefined)).to.equal('');
  });
});
