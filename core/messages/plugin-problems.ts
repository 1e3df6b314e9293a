/** Why a plugin is not active: what happened, and what to do next. One row per code. */
export interface Problem {
  readonly code: string;
  /** What happened, with the names and places that the reader needs. */
  readonly message: string;
  /** The next step: a command, a file, a person to ask. `<key>` stands for the plugin's own key. */
  readonly hint: string;
}

/** The problem as it is shown for one plugin: its hint can be copied as it is. */
export function problemOf(plugin: string, shown: Problem): Problem {
  return { ...shown, hint: shown.hint.replaceAll('<key>', plugin) };
}

type Render<A extends readonly unknown[]> = (...args: A) => Omit<Problem, 'code'>;

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

const rows = {
  manifest_unreadable: (file: string, why: string) => ({
    message: `${file} cannot be read: ${why}.`,
    hint: 'Add a plugin.json to the folder, a regular file of at most 1 MiB, or remove the folder.',
  }),
  manifest_not_json: (file: string, why: string) => ({
    message: `${file} is not valid JSON: ${why}.`,
    hint: 'Fix the JSON; a trailing comma or a missing quote is the usual cause.',
  }),
  manifest_invalid: (file: string, errors: readonly { path: string; message: string }[]) => ({
    message: `${file} does not match the manifest schema: ${errors.map((e) => `${e.path || '/'} ${e.message}`).join('; ')}.`,
    hint: 'Compare it with schemas/plugin.schema.json; mortise plugin doctor <key> lists all errors.',
  }),
  manifest_key_mismatch: (folder: string, key: string) => ({
    message: `The folder "${folder}" holds a manifest with the key "${key}".`,
    hint: `Rename the folder to "${key}", or set "key" to the name of the folder.`,
  }),
  manifest_facts: (file: string, why: string) => ({
    message: `The facts file ${file} cannot be used: ${why}.`,
    hint: 'Give a JSON object that matches the schema of the extension point, with a path relative to the plugin folder.',
  }),
  duplicate_plugin: (key: string, folders: readonly string[]) => ({
    message: `Several folders hold a plugin with the key "${key}": ${folders.join(', ')}.`,
    hint: 'Keep one of them; keys that differ only in - and _ are the same key.',
  }),
  plugin_missing: (key: string) => ({
    message: `plugins.json enables "${key}", and no such plugin is installed.`,
    hint: 'Put its folder into the plugins directory, or remove the entry from plugins.json.',
  }),
  engine_mismatch: (what: string, wanted: string, present: string) => ({
    message: `It needs ${what} ${wanted}, and this is ${what} ${present}.`,
    hint: `Install a version of the plugin made for ${what} ${present}, or update ${what}.`,
  }),
  point_unknown: (point: string, known: readonly string[], owners: readonly string[] = []) => {
    const [owner] = owners;
    if (owner === undefined) {
      return {
        message: `The manifest contributes to "${point}", which is not an extension point of the platform or of an installed plugin.`,
        hint: `Install the plugin that opens "${point}", or use one of: ${known.join(', ')}.`,
      };
    }
    return {
      message: `The manifest contributes to the extension point "${point}", which is opened by ${list(owners)} and is closed.`,
      hint: `mortise plugin enable ${owner}; if this plugin works without the point, list "${owner}" under "optional" in plugin.json.`,
    };
  },
  point_reserved: (point: string) => ({
    message: `The manifest opens the extension point "${point}", whose name belongs to the platform.`,
    hint: 'Give the point another name under "opens" in plugin.json.',
  }),
  point_schema: (point: string, why: string) => ({
    message: `The data schema of its extension point "${point}" cannot be used: ${why}.`,
    hint: 'factsSchema must be JSON Schema draft 2020-12 of type object, without network references.',
  }),
  contribution_key: (point: string, key: string) => ({
    message: `"${key}" is not a valid key for the point "${point}".`,
    hint: 'Use lower-case letters and digits, joined by single - or _, and no name that the point reserves.',
  }),
  host_service_unknown: (service: string, known: readonly string[]) => ({
    message: `The manifest asks for the host service "${service}", which does not exist.`,
    hint: `Use one of: ${known.join(', ')}.`,
  }),
  mount_unknown: (mount: string, known: readonly string[]) => ({
    message: `A route names the mount "${mount}", which neither this plugin nor one in "requires" or "optional" declares.`,
    hint: known.length > 0 ? `Use one of: ${known.join(', ')}.` : 'Declare it in "mounts", or remove the name.',
  }),
  route_reserved: (path: string) => ({
    message: `The manifest declares the route ${path}, which the platform serves itself.`,
    hint: 'Give the route another path in plugin.json.',
  }),
  schema_taken: (schema: string, owner: string) => ({
    message: `It declares the database schema "${schema}", which belongs to the plugin "${owner}".`,
    hint: 'Give the schema another name under "permissions.schemas" in plugin.json; data of other plugins is reached through their services.',
  }),
  dependency_missing: (key: string) => ({
    message: `It requires the plugin "${key}", which is not installed.`,
    hint: `Install "${key}", or remove it from "requires" in plugin.json.`,
  }),
  dependency_disabled: (key: string) => ({
    message: `It requires the plugin "${key}", which is disabled.`,
    hint: `mortise plugin enable ${key}`,
  }),
  dependency_not_active: (key: string, state: string) => ({
    message: `It requires the plugin "${key}", which is ${state}.`,
    hint: `mortise plugin inspect ${key} shows why; this plugin starts when that one does.`,
  }),
  dependency_cycle: (path: readonly string[]) => ({
    message: `Plugins require each other in a circle: ${path.join(' -> ')}.`,
    hint: 'Remove one "requires" of the circle; "optional" with host.watch() may be circular.',
  }),
  key_conflict: (what: string, claimants: readonly string[]) => ({
    message: `${what} is claimed by ${list(claimants)}. None of them is started.`,
    hint: `Disable all but one, or bind it in plugins.json: "bindings": {"${what}": "${claimants[0] ?? ''}"}.`,
  }),
  key_taken: (what: string, owner: string) => ({
    message: `${what} is served by the plugin "${owner}", which would have to stop.`,
    hint: `Disable "${owner}" first, or bind the claim in plugins.json to the plugin that should serve it: "bindings": {"${what}": "<key>"}.`,
  }),
  plugin_required: (key: string) => ({
    message: `The plugin "${key}" is required, so it cannot be disabled.`,
    hint: `Remove "required": true of "${key}" in plugins.json first. Servers that share a database copied it once from the file into their table plugins.desired.`,
  }),
  key_bound_elsewhere: (what: string, owner: string) => ({
    message: `${what} is bound to the plugin "${owner}".`,
    hint: `Disable this plugin, or bind ${what} to it in plugins.json.`,
  }),
  invalid_config: (errors: string | readonly { path: string; message: string }[]) => ({
    message: `Its configuration is invalid: ${typeof errors === 'string' ? errors.replace(/\.$/, '') : errors.map((e) => `${e.path || '/'} ${e.message}`).join('; ')}.`,
    hint: 'Correct what the message names, config/<key>.json or a variable; the plugin starts as soon as the file is valid.',
  }),
  config_schema: (file: string, why: string) => ({
    message: `Its configuration schema ${file} cannot be used: ${why}.`,
    hint: 'The schema must be JSON Schema draft 2020-12 of type object, without network references, and may not read secrets of the host (x-env).',
  }),
  entry_missing: (file: string) => ({
    message: `Its entry ${file} does not exist.`,
    hint: 'Build the plugin, or set "entry" in plugin.json to the file that exists.',
  }),
  entry_no_file: (file: string) => ({
    message: `Its entry ${file} is not a regular file.`,
    hint: 'Set "entry" in plugin.json to the file that holds the code.',
  }),
  entry_outside: (file: string) => ({
    message: `Its entry ${file} is outside the plugin's folder.`,
    hint: 'Set "entry" to a file below the plugin folder.',
  }),
  import_failed: (why: string) => ({
    message: `Its code could not be loaded: ${why}.`,
    hint: 'Fix the file, then load it again: mortise plugin restart <key>',
  }),
  import_timeout: (ms: number) => ({
    message: `Its code did not finish loading within ${ms} ms.`,
    hint: 'Move work that waits from the top level of the module into start().',
  }),
  export_invalid: (found: string) => ({
    message: `Its entry must export a default function that returns a plugin definition, and ${found}.`,
    hint: 'export default function plugin() { return { key, register(host) { … }, async start(host) { … } }; }',
  }),
  definition_invalid: (why: string) => ({
    message: `Its plugin definition is wrong: ${why}.`,
    hint: 'A definition has a key, and may have the functions register(host), start(host), stop, drain, reconfigure and health.',
  }),
  register_async: () => ({
    message: 'register() returned a promise; it must be synchronous.',
    hint: 'Move work that waits into start(host).',
  }),
  register_failed: (why: string) => ({
    message: `register() threw: ${why}.`,
    hint: 'register() only declares what the plugin adds; move everything else into start(host).',
  }),
  contribution_undeclared: (what: string) => ({
    message: `It adds ${what}, which its manifest does not list.`,
    hint: 'Add it to plugin.json: "contributes" for extension points, "provides" for services, "permissions.routes" for routes.',
  }),
  contribution_missing: (what: string) => ({
    message: `Its manifest lists ${what}, which the code did not add.`,
    hint: 'Add it in register() or start(), or remove it from plugin.json.',
  }),
  contribution_invalid: (what: string, why: string) => ({
    message: `Its contribution ${what} is wrong: ${why}.`,
    hint: 'See the type of the extension point in mortise/sdk; the contract suite of the point checks it.',
  }),
  contribution_twice: (what: string) => ({
    message: `It adds ${what} twice.`,
    hint: 'Add each key once; keys that differ only in - and _ are the same key.',
  }),
  service_denied: (service: string) => ({
    message: `It uses the service "${service}", which its manifest does not ask for.`,
    hint: `Add "${service}" to "permissions.services", or the plugin that provides it to "requires" or "optional".`,
  }),
  start_failed: (why: string) => ({
    message: `start() failed: ${why}.`,
    hint: 'Fix the cause, then start it again: mortise plugin restart <key>',
  }),
  start_timeout: (ms: number) => ({
    message: `start() did not finish within ${ms} ms and was aborted.`,
    hint: 'start() must not wait for something that may never happen; raise "timeouts.start" only for slow, finite work.',
  }),
  exit_attempt: () => ({
    message: 'It tried to end the process.',
    hint: 'Throw an error instead of calling process.exit().',
  }),
  repeated_faults: (count: number, seconds: number, last: string) => ({
    message: `It failed ${count} times within ${seconds} s; the last time: ${last}.`,
    hint: 'Fix the plugin, then start it again: mortise plugin release <key>',
  }),
  boot_crash: (step: string) => ({
    message: `The process ended during its ${step} at the last start, so it was left out this time.`,
    hint: 'Fix or remove the plugin, then start it again: mortise plugin release <key>',
  }),
  blocked_event_loop: (seconds: number) => ({
    message: `It blocked the event loop for more than ${seconds} s; the process was started again without it.`,
    hint: 'Look for an endless loop; long work must await between steps. Then start it again: mortise plugin release <key>',
  }),
  safe_mode: () => ({
    message: 'Safe mode: only required plugins are started.',
    hint: 'Fix or disable the plugin that crashes, then start again without --safe; mortise plugin doctor shows the cause.',
  }),
} satisfies Record<string, Render<never>>;

export type ProblemCode = keyof typeof rows;

/** Renders the row of a code. */
export function problem<C extends ProblemCode>(code: C, ...args: Parameters<(typeof rows)[C]>): Problem {
  const render = rows[code] as unknown as Render<Parameters<(typeof rows)[C]>>;
  return { code, ...render(...args) };
}
