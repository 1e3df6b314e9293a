import { expect } from 'chai';
import type { PluginControl, PluginRow } from 'mortise/sdk';
import { notRunning } from '../tools/call.js';

function row(key: string, state: PluginRow['state'], code: string | null, requires: readonly string[] = []): PluginRow {
  return {
    key,
    title: key,
    version: '1.0.0',
    source: 'first-party',
    tier: 0,
    desired: 'enabled',
    state,
    since: '2026-01-01T00:00:00.000Z',
    code,
    message: null,
    hint: null,
    required: false,
    contributes: {},
    requires,
    config_valid: true,
  };
}

describe('why a listed tool cannot run', () => {
  const cases: readonly [what: string, rows: readonly PluginRow[], reason: string][] = [
    ['its plugin failed', [row('p', 'failed', 'start_failed')], 'TOOL_EXECUTOR_NOT_REGISTERED'],
    ['its plugin is starting', [row('p', 'starting', null)], 'TOOL_EXECUTOR_NOT_REGISTERED'],
    ['its migration failed', [row('p', 'failed', 'migration_failed')], 'LOGBOOK_DB_CHECK_FAILED'],
    ['the database is newer', [row('p', 'failed', 'schema_newer')], 'LOGBOOK_DB_CHECK_FAILED'],
    [
      'what it needs waits for the database',
      [
        row('p', 'blocked', 'dependency_failed', ['q']),
        row('q', 'blocked', 'x', ['p', 'r']),
        row('r', 'failed', 'database_unavailable'),
      ],
      'LOGBOOK_DB_CHECK_FAILED',
    ],
    [
      'what it needs runs',
      [row('p', 'failed', 'start_failed', ['q']), row('q', 'active', 'database_slow')],
      'TOOL_EXECUTOR_NOT_REGISTERED',
    ],
  ];
  for (const [what, rows, reason] of cases) {
    it(`is ${reason} when ${what}`, () => {
      const control = { list: () => rows } as unknown as PluginControl;
      expect(notRunning(control, 'tool', 'p').reason).to.equal(reason);
    });
  }
});
