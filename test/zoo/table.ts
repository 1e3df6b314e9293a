import type { PluginRow } from '../../core/sdk/index.js';

/** The expected state of a broken plugin. */
export interface Expected {
  readonly plugin: string;
  /** All plugins that are dropped in, when this one is not enough. */
  readonly with?: readonly string[];
  readonly state: PluginRow['state'];
  readonly code: string | null;
  /** What the message must name. */
  readonly message?: RegExp;
  /** The next step that the hint must give. */
  readonly hint?: RegExp;
  /** A fault of a plugin that keeps running. */
  readonly lastFault?: string;
  /** A finding of the doctor. */
  readonly finding?: string;
}

const blocked = (plugin: string, code: string, message: RegExp, hint: RegExp): Expected => ({
  plugin,
  state: 'blocked',
  code,
  message,
  hint,
});
const failed = (plugin: string, code: string, message: RegExp, hint: RegExp): Expected => ({
  plugin,
  state: 'failed',
  code,
  message,
  hint,
});
const quarantined = (plugin: string, message: RegExp): Expected => ({
  plugin,
  state: 'quarantined',
  code: 'repeated_faults',
  message,
  hint: new RegExp(`mortise plugin release ${plugin}$`),
});

const fixManifest = /plugin\.schema\.json/;

export const table: readonly Expected[] = [
  // Its folder and its manifest.
  blocked('no-manifest', 'manifest_unreadable', /no-manifest\/plugin\.json .*there is none/, /Add a plugin\.json/),
  blocked('bad-json', 'manifest_not_json', /bad-json\/plugin\.json/, /trailing comma/),
  blocked('deep-json', 'manifest_not_json', /deep-json\/plugin\.json .*deeper than 100 levels/, /trailing comma/),
  { plugin: 'byte-order-mark', state: 'active', code: null },
  blocked('wrong-types', 'manifest_invalid', /\/title .*\/version|\/version .*\/title/, fixManifest),
  blocked('unknown-member', 'manifest_invalid', /contribute/, fixManifest),
  blocked('other-key', 'manifest_key_mismatch', /"other-key".*"another-key"/, /Rename the folder to "another-key"/),
  blocked('bad-key', 'manifest_invalid', /\/key /, fixManifest),
  {
    ...blocked('twin-key', 'duplicate_plugin', /local\/twin-key, local\/twin_key/, /Keep one/),
    with: ['twin-key', 'twin_key'],
  },
  blocked('unknown-point', 'point_unknown', /"toll"/, /\btool\b/),
  blocked('bad-contribution-key', 'contribution_key', /"bad\.key".*"embedder"/, /lower-case/),
  blocked('unknown-service', 'host_service_unknown', /"databse"/, /\bdatabase\b/),
  blocked('facts-missing', 'manifest_facts', /facts\.json .*does not exist/, /relative to the plugin folder/),
  blocked('facts-not-json', 'manifest_facts', /facts\.json/, /JSON object/),
  blocked('facts-outside', 'manifest_invalid', /facts/, fixManifest),
  blocked('facts-linked-outside', 'manifest_facts', /outside the plugin folder/, /relative to the plugin folder/),
  blocked('engine-mismatch', 'engine_mismatch', />=99\.0\.0/, /update mortise/),
  blocked('entry-outside', 'manifest_invalid', /\/entry /, fixManifest),
  blocked('entry-linked-outside', 'entry_outside', /linked\.js/, /below the plugin folder/),

  // Its configuration.
  blocked('config-schema-missing', 'config_schema', /config\.schema\.json .*does not exist/, /JSON Schema/),
  blocked('config-schema-invalid', 'config_schema', /config\.schema\.json/, /JSON Schema/),
  blocked('config-endless', 'invalid_config', /backtracks without end/, /config\/config-endless\.json/),
  blocked(
    'reads-admin-key',
    'config_schema',
    /reads GOVERNANCE_ADMIN_KEY, which holds a secret/,
    /secrets of the host/,
  ),
  blocked('config-invalid', 'invalid_config', /\/limit /, /config\/config-invalid\.json/),

  // Its dependencies, and names that other plugins claim as well.
  blocked('needs-missing', 'dependency_missing', /"nowhere"/, /Install "nowhere"/),
  {
    ...blocked('needs-disabled', 'dependency_disabled', /"left-off"/, /^mortise plugin enable left-off$/),
    with: ['needs-disabled', 'left-off'],
  },
  blocked(
    'needs-failed',
    'dependency_not_active',
    /"start-throws", which is failed/,
    /mortise plugin inspect start-throws/,
  ),
  blocked('circle-a', 'dependency_cycle', /circle-a -> circle-b -> circle-c -> circle-a/, /"requires"/),
  blocked('circle-b', 'dependency_cycle', /circle-b -> circle-c -> circle-a -> circle-b/, /"requires"/),
  blocked('circle-c', 'dependency_cycle', /circle-c -> circle-a -> circle-b -> circle-c/, /"requires"/),
  blocked('self-circle', 'dependency_cycle', /self-circle -> self-circle/, /"requires"/),
  blocked(
    'tool-claimant-a',
    'key_conflict',
    /tool:contested-tool .*"tool-claimant-a", "tool-claimant-b"/,
    /"bindings": \{"tool:contested-tool"/,
  ),
  blocked('tool-claimant-b', 'key_conflict', /tool:contested-tool/, /Disable all but one/),
  blocked('route-claimant-a', 'key_conflict', /route:GET \/contested\/:_/, /"bindings": \{"route:GET/),
  blocked('route-claimant-b', 'key_conflict', /route:GET \/contested\/:_/, /Disable all but one/),

  // Loading its code.
  failed('entry-missing', 'entry_missing', /gone\.js/, /set "entry"/),
  failed('syntax-error', 'import_failed', /index\.js:4/, /mortise plugin restart/),
  failed('import-throws', 'import_failed', /no table was laid \(index\.js:1\)/, /mortise plugin restart/),
  failed('import-missing', 'import_failed', /'nowhere\.js'/, /mortise plugin restart/),
  failed('import-hangs', 'import_timeout', /400 ms/, /into start\(\)/),
  failed('no-default-export', 'export_invalid', /no default export/, /export default function/),
  failed('default-no-function', 'export_invalid', /an object/, /export default function/),
  failed('factory-throws', 'export_invalid', /the factory is closed \(index\.js:2\)/, /export default function/),
  failed('factory-async', 'definition_invalid', /a promise/, /register\(host\)/),
  { plugin: 'no-register', state: 'active', code: null },
  failed('wrong-key', 'definition_invalid', /"right-key".*"wrong-key"/, /has a key/),

  // register(host).
  failed('register-async', 'register_async', /must be synchronous/, /into start\(host\)/),
  failed('register-throws', 'register_failed', /the register is full \(index\.js:4\)/, /into start\(host\)/),
  failed('uses-too-early', 'register_failed', /use\("http"\).*start\(host\)/, /into start\(host\)/),
  failed('undeclared', 'contribution_undeclared', /tool "undeclared-tool"/, /"contributes"/),
  failed('wrong-shape', 'contribution_invalid', /run is not a function/, /mortise\/sdk/),
  failed('twice', 'contribution_twice', /tool "said_twice"/, /only in - and _/),
  failed('bad-input-schema', 'contribution_invalid', /inputSchema/, /mortise\/sdk/),
  failed('changes-config', 'register_failed', /read only/i, /into start\(host\)/),

  // start(host).
  failed('service-not-asked', 'service_denied', /"database"/, /"permissions\.services"/),
  failed('start-throws', 'start_failed', /the engine is cold \(index\.js:5\)/, /mortise plugin restart/),
  failed('start-rejects', 'start_failed', /the line is dead/, /mortise plugin restart/),
  failed('start-hangs', 'start_timeout', /400 ms/, /must not wait/),
  failed('migration-hangs', 'start_timeout', /1500 ms/, /must not wait/),
  failed('start-exits', 'exit_attempt', /end the process/, /Throw an error instead/),

  // While it runs.
  { plugin: 'exits-later', state: 'active', code: null, lastFault: 'exit_attempt', finding: 'exit_attempt' },
  { plugin: 'catches-all', state: 'active', code: null },
  quarantined('rejects-later', /failed 5 times within 60 s; the last time: nobody looks\.$/),
  quarantined('timer-throws', /the clock is wrong/),
  quarantined('raw-timer-throws', /the raw clock is wrong/),
  quarantined('emitter-throws', /the listener is deaf/),
  // The platform calls its code, so only the stack identifies the plugin.
  quarantined('foreign-event-throws', /the event is not mine/),
  quarantined('odd-errors', /failed 5 times within 60 s/),
  quarantined('alert-listener-throws', /I cannot hear it any more/),
  { plugin: 'leaves-timer', state: 'active', code: null },
  { plugin: 'ignores-abort', state: 'active', code: null },
  { plugin: 'transaction-hangs', state: 'active', code: null },
  { plugin: 'stop-hangs', state: 'active', code: null },
  { plugin: 'stop-throws', state: 'active', code: null },
  { plugin: 'dispose-hangs', state: 'active', code: null },
  { plugin: 'health-hangs', state: 'active', code: null },
  { plugin: 'health-throws', state: 'active', code: null },
];
