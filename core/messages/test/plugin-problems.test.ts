import { expect } from 'chai';
import { type ProblemCode, problem } from '../plugin-problems.js';

const issues = [{ path: '/limit', message: 'must be a number' }];

/** Every row with arguments like those of the kernel; a new row without an entry here does not compile. */
const rendered: Readonly<Record<ProblemCode, ReturnType<typeof problem>>> = {
  manifest_unreadable: problem('manifest_unreadable', 'echo/plugin.json', 'there is none'),
  manifest_not_json: problem('manifest_not_json', 'echo/plugin.json', 'Unexpected token'),
  manifest_invalid: problem('manifest_invalid', 'echo/plugin.json', issues),
  manifest_key_mismatch: problem('manifest_key_mismatch', 'echo', 'other'),
  manifest_facts: problem('manifest_facts', 'facts.json', 'it does not exist'),
  duplicate_plugin: problem('duplicate_plugin', 'echo', ['local/echo', 'npm/echo']),
  plugin_missing: problem('plugin_missing', 'echo'),
  engine_mismatch: problem('engine_mismatch', 'mortise', '>=2', '1.0.0'),
  point_unknown: problem('point_unknown', 'toll', ['tool']),
  point_reserved: problem('point_reserved', 'tool'),
  point_schema: problem('point_schema', 'greeting', 'it is not an object'),
  contribution_key: problem('contribution_key', 'tool', 'A'),
  host_service_unknown: problem('host_service_unknown', 'databse', ['database']),
  mount_unknown: problem('mount_unknown', 'rest', ['other']),
  route_reserved: problem('route_reserved', '/healthz'),
  schema_taken: problem('schema_taken', 'logbook', 'logbook'),
  dependency_missing: problem('dependency_missing', 'echo'),
  dependency_disabled: problem('dependency_disabled', 'echo'),
  dependency_not_active: problem('dependency_not_active', 'echo', 'failed'),
  dependency_cycle: problem('dependency_cycle', ['a', 'b', 'a']),
  key_conflict: problem('key_conflict', 'tool:echo', ['a', 'b']),
  key_taken: problem('key_taken', 'tool:echo', 'one'),
  key_bound_elsewhere: problem('key_bound_elsewhere', 'tool:echo', 'a'),
  plugin_required: problem('plugin_required', 'admin'),
  invalid_config: problem('invalid_config', issues),
  config_schema: problem('config_schema', 'config.schema.json', 'it does not exist'),
  entry_missing: problem('entry_missing', 'index.js'),
  entry_no_file: problem('entry_no_file', 'index.js'),
  entry_outside: problem('entry_outside', '../index.js'),
  import_failed: problem('import_failed', 'Unexpected token (index.js:3)'),
  import_timeout: problem('import_timeout', 10_000),
  export_invalid: problem('export_invalid', 'it is an object'),
  definition_invalid: problem('definition_invalid', 'it has no key'),
  register_async: problem('register_async'),
  register_failed: problem('register_failed', 'no'),
  contribution_undeclared: problem('contribution_undeclared', 'tool "echo"'),
  contribution_missing: problem('contribution_missing', 'tool "echo"'),
  contribution_invalid: problem('contribution_invalid', 'tool "echo"', 'run is not a function'),
  contribution_twice: problem('contribution_twice', 'tool "echo"'),
  service_denied: problem('service_denied', 'database'),
  start_failed: problem('start_failed', 'no'),
  start_timeout: problem('start_timeout', 10_000),
  exit_attempt: problem('exit_attempt'),
  repeated_faults: problem('repeated_faults', 5, 60, 'no'),
  boot_crash: problem('boot_crash', 'start'),
  blocked_event_loop: problem('blocked_event_loop', 10),
  safe_mode: problem('safe_mode'),
};

describe('the reasons why a plugin is not active', () => {
  for (const [code, shown] of Object.entries(rendered)) {
    it(`name the cause and the fix: ${code}`, () => {
      expect(shown.code).to.equal(code);
      expect(shown.message).to.match(/^[A-Z"/a-z].*\.$/s);
      expect(shown.message, 'one full stop').not.to.match(/\.\.$/);
      expect(shown.hint).to.match(/\S.{10,}/);
      expect(`${shown.message}${shown.hint}`).not.to.match(/undefined|\[object|NaN|\s{2}/);
    });
  }

  it('name the exact command to run', () => {
    expect(rendered.dependency_disabled.hint).to.equal('mortise plugin enable echo');
  });
});
